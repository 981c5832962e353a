//! Heads of requests over HTTP: what a client may call the server and itself,
//! and requests that are no post of a message.
#![cfg(feature = "http")]

/// Header lines in the place of `Host`, and the statuses that are right.
/// `PORT` stands for the server's port.
pub(crate) const HOSTS: &[(&str, &[u16])] = &[
    ("Host: localhost:PORT", &[200]),
    ("host:LOCALHOST:PORT", &[200]),
    ("Host: 127.0.0.1:PORT", &[200]),
    ("Host: [::1]:PORT", &[200]),
    ("X: y", &[400]),
    ("Host:", &[400, 403]),
    ("Host: localhost", &[403]),
    ("Host: localhost:1", &[403]),
    ("Host: localhost.:PORT", &[403]),
    ("Host: localhost:PORT.", &[403]),
    ("Host: localhost:0PORT", &[200, 403]),
    ("Host: localhost:", &[403]),
    ("Host: :PORT", &[403]),
    ("Host: localhost:99999", &[403]),
    ("Host: localhost:PORT@evil.example", &[403]),
    ("Host: evil.example@localhost:PORT", &[403]),
    ("Host: localhost:PORT/evil", &[403]),
    ("Host: localhost:PORT, evil.example", &[403]),
    ("Host: localhost:PORT evil.example", &[403]),
    ("Host: localhost:PORT#", &[403]),
    ("Host: evil.example", &[403]),
    ("Host: evil.example:PORT", &[403]),
    ("Host: localhost.evil.example:PORT", &[403]),
    ("Host: 127.1:PORT", &[403]),
    ("Host: 127.0.0.1.evil.example:PORT", &[403]),
    ("Host: 2130706433:PORT", &[403]),
    ("Host: 0x7f000001:PORT", &[403]),
    ("Host: 0.0.0.0:PORT", &[403]),
    ("Host: [::ffff:127.0.0.1]:PORT", &[403]),
    ("Host: [::]:PORT", &[403]),
    ("Host: ::1:PORT", &[403]),
    ("Host: http://localhost:PORT", &[403]),
    ("Host: ʟocalhost:PORT", &[403]),
    ("Host: localhost:PORT\r\nHost: evil.example", &[400, 403]),
    ("Host: evil.example\r\nHost: localhost:PORT", &[400, 403]),
];

/// Header lines beside a right `Host`.
pub(crate) const ORIGINS: &[(&str, &[u16])] = &[
    ("Origin: http://localhost:PORT", &[200]),
    ("Origin: HTTP://LOCALHOST:PORT", &[200]),
    ("Origin: http://127.0.0.1:PORT", &[200]),
    ("Origin: http://[::1]:PORT", &[200]),
    ("Origin:", &[403]),
    ("Origin: null", &[403]),
    ("Origin: https://localhost:PORT", &[403]),
    ("Origin: http://localhost", &[403]),
    ("Origin: http://localhost:1", &[403]),
    ("Origin: http://localhost.:PORT", &[403]),
    ("Origin: http://localhost:PORT.evil.example", &[403]),
    ("Origin: http://localhost:PORT/", &[403]),
    ("Origin: http://evil.example", &[403]),
    ("Origin: http://evil.example:PORT", &[403]),
    ("Origin: http://user@localhost:PORT", &[403]),
    ("Origin: http://localhost:PORT http://evil.example", &[403]),
    ("Origin: //localhost:PORT", &[403]),
    ("Origin: localhost:PORT", &[403]),
    ("Origin: file://", &[403]),
    ("Origin: chrome-extension://abcdef", &[403]),
    (
        "Origin: http://localhost:PORT\r\nOrigin: http://evil.example",
        &[403],
    ),
];

/// Whole requests that are no post of a message. `HOST` stands for the right
/// name; 0 means that the connection may end without an answer.
pub(crate) const REQUESTS: &[(&str, &[u16])] = &[
    ("GET /mcp HTTP/1.1\r\nHost: HOST\r\n\r\n", &[405]),
    (
        "HEAD /mcp HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n",
        &[405],
    ),
    ("OPTIONS /mcp HTTP/1.1\r\nHost: HOST\r\n\r\n", &[405]),
    ("OPTIONS * HTTP/1.1\r\nHost: HOST\r\n\r\n", &[404, 405]),
    (
        "PUT /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\n\r\n{}",
        &[405],
    ),
    ("DELETE /mcp HTTP/1.1\r\nHost: HOST\r\n\r\n", &[405]),
    (
        "PATCH /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n",
        &[405],
    ),
    ("TRACE /mcp HTTP/1.1\r\nHost: HOST\r\n\r\n", &[405]),
    (
        "post /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n",
        &[405],
    ),
    ("MADEUP /mcp HTTP/1.1\r\nHost: HOST\r\n\r\n", &[405]),
    ("CONNECT HOST HTTP/1.1\r\nHost: HOST\r\n\r\n", &[404, 405]),
    (
        "CONNECT evil.example:443 HTTP/1.1\r\nHost: HOST\r\n\r\n",
        &[403],
    ),
    ("GET / HTTP/1.1\r\nHost: HOST\r\n\r\n", &[404]),
    ("GET /mcp/ HTTP/1.1\r\nHost: HOST\r\n\r\n", &[404]),
    ("GET //mcp HTTP/1.1\r\nHost: HOST\r\n\r\n", &[404]),
    ("GET /MCP HTTP/1.1\r\nHost: HOST\r\n\r\n", &[404]),
    ("GET /%6dcp HTTP/1.1\r\nHost: HOST\r\n\r\n", &[404]),
    (
        "GET /../../etc/passwd HTTP/1.1\r\nHost: HOST\r\n\r\n",
        &[404],
    ),
    ("GET /mcp%00 HTTP/1.1\r\nHost: HOST\r\n\r\n", &[404]),
    ("GET /healthz?x=/mcp HTTP/1.1\r\nHost: HOST\r\n\r\n", &[200]),
    (
        "POST /healthz HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n",
        &[404, 405],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\n\r\n{}",
        &[415],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
        &[415],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/jsonx\r\nContent-Length: 2\r\n\r\n{}",
        &[415],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: text/plain;application/json\r\nContent-Length: 2\r\n\r\n{}",
        &[415],
    ),
    // No message at all, or one that breaks off.
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\n\r\n",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n{}",
        &[400, 0],
    ),
    // Lengths that two readers could read in two ways.
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 7\r\n\r\n{}",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 2, 7\r\n\r\n{}",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: -2\r\n\r\n{}",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: +2\r\n\r\n{}",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 0x2\r\n\r\n{}",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: two\r\n\r\n{}",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 99999999999999999999999\r\n\r\n{}",
        &[400, 413],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 18446744073709551615\r\n\r\n{}",
        &[400, 413, 431],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 4194305\r\n\r\n",
        &[413],
    ),
    // If both are given, chunks count (RFC 9112, 6.3).
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n28\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n0\r\n\r\n",
        &[200],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip\r\n\r\n",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n{}\r\n",
        &[400],
    ),
    (
        "POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        &[400, 0],
    ),
    // Heads that are none.
    (
        "GET /mcp HTTP/1.1\r\nHost: HOST\r\nNo colon\r\n\r\n",
        &[400],
    ),
    ("GET /mcp HTTP/1.1\r\nHost: HOST\r\nX: a\0b\r\n\r\n", &[400]),
    ("GET /mcp HTTP/1.1\r\nHost: HOST\r\nX y: z\r\n\r\n", &[400]),
    ("GET /mcp HTTP/1.1\r\nHost: HOST\r\n folded\r\n\r\n", &[400]),
    (
        "GET /mcp HTTP/1.1\r\nHost: HOST\r\n: without_id\r\n\r\n",
        &[400],
    ),
    ("GET /mcp\r\n\r\n", &[400, 0]),
    ("GET /mcp HTTP/0.9\r\n\r\n", &[400, 505, 0]),
    ("GET /mcp HTTP/3.7\r\nHost: HOST\r\n\r\n", &[400, 505, 0]),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[400, 505, 0]),
    ("\x16\x03\x01\x02\0\x01\0\x01\u{fc}\x03\x03", &[400, 0]),
    (
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n",
        &[400, 0],
    ),
    ("\r\n\r\n\r\n", &[400, 0]),
    ("\0\0\0\0\r\n\r\n", &[400, 0]),
    ("GET", &[400, 0]),
    ("", &[0]),
];
