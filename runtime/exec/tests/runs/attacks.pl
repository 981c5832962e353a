# Tries to reach what is not the script's, and prints the name of each attempt that succeeds. Where
# things are stands in the environment.
use strict;
use Socket;
use Fcntl;
use Errno;

my @canaries = map { "$_/canary" } split /:/, $ENV{CANARIES};
my ($caller, $readable, $writable) = @ENV{qw(CALLER READABLE WRITABLE)};
my $scratch = $ENV{HOME};
my %number = (
    add_key => 248, bpf => 321, clone => 56, clone3 => 435, io_uring_setup => 425, keyctl => 250,
    kcmp => 312, mount => 165, msgget => 68, mq_open => 240, open_by_handle_at => 304,
    perf_event_open => 298, pidfd_open => 434, pidfd_getfd => 438, process_vm_readv => 310,
    ptrace => 101, setns => 308, setxattr => 188, shmget => 29, tkill => 200, unshare => 272, userfaultfd => 323,
    pidfd_send_signal => 424, chroot => 161, personality => 135, add_watch => 254,
);
my %tried;

sub try_it {
    my ($name, $attempt) = @_;
    # Each in a process of its own, so that none changes what the next one finds.
    my $child = fork // die "fork: $!";
    if (!$child) {
        my $succeeded = eval { $attempt->() };
        exec '/bin/true' if $succeeded;
        exec '/bin/false';
    }
    waitpid $child, 0;
    print "$name\n" if $? == 0 && !$tried{$name}++;
}

sub call { my $name = shift; return syscall($number{$name}, @_) }

sub connects {
    my ($family, $address) = @_;
    socket(my $s, $family, SOCK_STREAM, 0) or return 0;
    return connect $s, $address;
}

for my $canary (@canaries) {
    my ($directory) = $canary =~ m{(.*)/};
    try_it 'see a file', sub { -e $canary };
    try_it 'read a file', sub { open my $f, '<', $canary or return; <$f> };
    try_it 'read a file', sub { opendir my $d, $directory or return; grep /canary/, readdir $d };
    try_it 'read a file', sub { symlink $canary, "$scratch/link"; open my $f, '<', "$scratch/link" or return; <$f> };
    try_it 'link a file', sub { link $canary, "$scratch/hard" };
    try_it 'link a file', sub { link "$ENV{SKILL_DIR}/scripts/run.pl", "$directory/hard"  };
    try_it 'create a file', sub { open my $f, '>', "$directory/new" };
    try_it 'create a file', sub { mkdir "$directory/directory" };
    try_it 'create a file', sub { symlink '/', "$directory/symlink" };
    try_it 'change a time', sub { utime 1, 1, $canary };
    try_it 'change a mode', sub { chmod 0600, $canary };
    try_it 'change an attribute', sub { $ENV{X86_64} && call('setxattr', $canary, 'user.x', 'x', 1, 0) == 0 };
    try_it 'write a file', sub { open my $f, '>>', $canary or return; print $f 'x' };
    try_it 'write a file', sub { truncate $canary, 0 };
    try_it 'delete or move a file', sub { rename $canary, "$scratch/moved" };
    try_it 'delete or move a file', sub { unlink $canary };
}
for my $file ('/etc/shadow', '/etc/sudoers', "/proc/$caller/mem", "/proc/$caller/maps", '/proc/kcore', '/sys/kernel/uevent_helper') {
    try_it 'read a file', sub { open my $f, '<', $file or return; read $f, my $x, 1 };
}
for my $change (sub { open my $f, '>', "$readable/new" }, sub { open my $f, '>>', "$readable/canary" },
    sub { rename "$readable/canary", "$readable/moved" }, sub { unlink "$readable/canary" }) {
    try_it 'write a file', $change;
}
# Its own files may not change either, so that a later process runs what was checked.
for my $change (sub { open my $f, '>>', "$ENV{SKILL_DIR}/scripts/run.pl" }, sub { unlink "$ENV{SKILL_DIR}/scripts/run.pl" },
    sub { rename "$ENV{SKILL_DIR}/scripts", "$ENV{SKILL_DIR}/x" }, sub { symlink '/', "$ENV{SKILL_DIR}/x" }) {
    try_it 'write a file', $change;
}
# What it may change it may not leave, nor use for more than data.
for my $canary (@canaries) {
    try_it 'read a file', sub { symlink $canary, "$writable/link$$"; open my $f, '<', "$writable/link$$" or return; <$f> };
    try_it 'write a file', sub { symlink $canary, "$writable/link$$"; open my $f, '>>', "$writable/link$$" or return; print $f 'x' };
    try_it 'link a file', sub { link $canary, "$writable/hard$$" };
    try_it 'delete or move a file', sub { rename $canary, "$writable/moved" };
}
# In a file system of its own it may make what it likes beside it; the caller looks.
open my $beside, '>', "$writable/../new";
try_it 'make a device', sub { $ENV{X86_64} && syscall(133, "$writable/null", 020666, 0x103) == 0 };
try_it 'make a set-user-ID file', sub { sysopen my $f, "$writable/a$$", O_CREAT | O_WRONLY, 04755 or return; -u $f };
try_it 'make a set-user-ID file', sub { sysopen my $f, "$writable/a$$", O_CREAT | O_WRONLY, 02755 or return; -g $f };
try_it 'make a set-user-ID file', sub { sysopen my $f, $writable, 020200000 | O_RDWR, 04755 or return; -u $f };
for my $bit (04755, 02755) {
    try_it 'make a set-user-ID file', sub { open my $f, '>', "$writable/b$$"; chmod $bit, "$writable/b$$"; (stat $f)[2] & 06000 };
    try_it 'make a set-user-ID file', sub { open my $f, '>', "$writable/b$$"; chmod $bit, $f; (stat $f)[2] & 06000 };
    $ENV{X86_64} or next;
    # fchmodat, fchmodat2, mknod, mknodat, creat, openat2
    try_it 'make a set-user-ID file', sub { open my $f, '>', "$writable/b$$"; syscall(268, -100, "$writable/b$$", $bit, 0); (stat $f)[2] & 06000 };
    try_it 'make a set-user-ID file', sub { open my $f, '>', "$writable/b$$"; syscall(452, -100, "$writable/b$$", $bit, 0); (stat $f)[2] & 06000 };
    try_it 'make a set-user-ID file', sub { syscall(133, "$writable/c$$", 0100000 | $bit, 0) == 0 };
    try_it 'make a set-user-ID file', sub { syscall(259, -100, "$writable/d$$", 0100000 | $bit, 0) == 0 };
    try_it 'make a set-user-ID file', sub { syscall(85, "$writable/e$$", $bit) >= 0 };
    try_it 'make a set-user-ID file', sub { syscall(437, -100, "$writable/f$$", pack('QQQ', O_CREAT | O_WRONLY, $bit, 0), 24) >= 0 };
}
try_it 'fill a disk', sub {
    open my $f, '>', "$writable/large" or return;
    my $written = syswrite $f, 'x' x $ENV{MORE};
    close $f and $written == $ENV{MORE};
};
# Last, since nothing can be tried in it if it is gone.
try_it 'replace the data directory', sub { rename $writable, "$writable.moved" };
try_it 'replace the data directory', sub { rename $writable, "$scratch/moved" };
try_it 'replace the data directory', sub { unlink glob "$writable/*"; rmdir $writable };
for my $device (qw(tty ptmx pts/ptmx pts/0 console kmsg mem port kvm fuse net/tun loop0 loop-control sda vda hda nvme0n1 mapper/control vhost-net userfaultfd input/event0 dri/card0)) {
    try_it 'open a device', sub { sysopen my $f, "/dev/$device", O_RDONLY | O_NONBLOCK };
    try_it 'open a device', sub { sysopen my $f, "/dev/$device", O_RDWR | O_NONBLOCK };
}

try_it 'see a process', sub { -e "/proc/$caller" };
try_it 'see a process', sub { kill(0, $caller) || $!{EPERM} };
for my $file (qw(environ cmdline)) {
    try_it "environment of the caller", sub { open my $f, '<', "/proc/$caller/$file" or return; <$f> };
}
for my $link (qw(root cwd exe fd/0)) {
    try_it 'environment of the caller', sub { readlink "/proc/$caller/$link" };
}
my $above = getppid;
# A process of its own namespace, as which it sees nobody above, is no one else's.
try_it 'signal the caller', sub { kill 'CONT', $caller };
try_it 'signal the supervisor', sub { $above > 1 && kill 'CONT', $above };

try_it 'connect over TCP', sub { connects(PF_INET, pack_sockaddr_in($ENV{TCP}, inet_aton('127.0.0.1'))) };
try_it 'send over UDP', sub {
    socket(my $s, PF_INET, SOCK_DGRAM, 0) or return;
    send $s, 'x', 0, pack_sockaddr_in($ENV{UDP}, inet_aton('127.0.0.1'));
    return 0;
};
try_it 'connect to a Unix socket', sub { my ($d) = $canaries[0] =~ m{(.*)/}; connects(PF_UNIX, pack_sockaddr_un("$d/socket")) };
try_it 'connect to a readable Unix socket', sub { connects(PF_UNIX, pack_sockaddr_un("$readable/socket")) };
try_it 'write to a readable named pipe', sub { sysopen my $f, "$readable/pipe", O_WRONLY | O_NONBLOCK or return; syswrite $f, 'x' };
try_it 'connect to an abstract Unix socket', sub { connects(PF_UNIX, pack_sockaddr_un("\0$ENV{ABSTRACT}")) };
try_it 'send to a Unix socket by a pair', sub {
    my ($d) = $canaries[0] =~ m{(.*)/};
    socketpair(my $a, my $b, PF_UNIX, SOCK_DGRAM, 0) or return;
    send $a, 'x', 0, pack_sockaddr_un("$d/datagrams");
};
try_it 'make a raw socket', sub { socket(my $s, PF_INET, SOCK_RAW, 1) };
try_it 'make a packet socket', sub { socket(my $s, 17, SOCK_RAW, 0) };
for my $family (2, 10, 16) {
    # A path to the kernel's own interfaces.
    try_it 'call vsock', sub { socket(my $s, 40, SOCK_STREAM, 0) };
}

if ($ENV{X86_64}) {
    my $size = 1024;
    my $buffer = "\0" x $size;
    try_it 'trace the caller', sub { call('ptrace', 0x4206, int $caller, 0, 0) == 0 };
    try_it 'read memory of the caller', sub {
        open my $maps, '<', "/proc/$caller/maps" or return;
        my ($from) = <$maps> =~ /^([0-9a-f]+)/;
        my $local = pack 'PQ', $buffer, 16;
        my $remote = pack 'QQ', hex $from, 16;
        call('process_vm_readv', int $caller, $local, 1, $remote, 1, 0) > 0;
    };
    # The arguments are right as far as it takes to get beyond a filter.
    try_it 'call unshare', sub { call('unshare', 0x10000000) == 0 };
    try_it 'call clone for a user namespace', sub {
        my $child = call('clone', 0x10000000 | 17, 0, 0, 0, 0);
        exit if $child == 0;
        $child > 0;
    };
    try_it 'call clone3 for a user namespace', sub {
        my $arguments = pack 'Q11', 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0;
        my $child = call('clone3', $arguments, 88);
        exit if $child == 0;
        $child > 0;
    };
    try_it 'call setns', sub { call('setns', 0, 0x10000000); $!{EINVAL} };
    try_it 'call mount', sub { my ($n, $t) = ('none', '/tmp'); call('mount', $n, $t, my $k = 'tmpfs', 0, 0) == 0 };
    try_it 'call chroot', sub { call('chroot', my $d = $scratch) == 0 };
    try_it 'call keyctl', sub { call('keyctl', 0, -3, 1) > 0 };
    try_it 'call add_key', sub { call('add_key', my $t = 'user', my $n = 'x', my $p = 'y', 1, -3) > 0 };
    try_it 'call io_uring_setup', sub { my $p = "\0" x 120; call('io_uring_setup', 1, $p) >= 0 };
    try_it 'call userfaultfd', sub { call('userfaultfd', 1) >= 0 };
    try_it 'call perf_event_open', sub { my $p = pack('LLQ', 1, 112, 0) . "\0" x 96; vec($p, 40 * 8 + 5, 1) = 1; call('perf_event_open', $p, 0, -1, -1, 0) >= 0 };
    try_it 'call bpf', sub { my $p = "\0" x 72; call('bpf', 0, $p, 72); !$!{EPERM} };
    try_it 'call kcmp', sub { call('kcmp', $$, $$, 0, 0, 0) >= 0 };
    try_it 'signal the caller', sub { my $fd = call('pidfd_open', int $caller, 0); $fd >= 0 && call('pidfd_send_signal', $fd, 18, 0, 0) == 0 };
    try_it 'call pidfd_getfd', sub { my $fd = call('pidfd_open', int $caller, 0); $fd >= 0 && call('pidfd_getfd', $fd, 0, 0) >= 0 };
    try_it 'signal the caller', sub { call('tkill', int $caller, 18) == 0 };
    # A terminal that it could type into.
    try_it 'call TIOCSTI', sub { open my $t, '<', '/dev/tty' or return; my $c = 'x'; ioctl $t, 0x5412, $c };
    # The second set of calls of this processor.
    try_it 'call by x32', sub { syscall(0x40000000 + 39) > 0 };
    try_it 'share memory', sub { $ENV{KEY} && call('shmget', int $ENV{KEY}, 4096, 0) >= 0 };
}
print "done\n";
