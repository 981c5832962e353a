//! Scores of neighbouring documents, eight in a register at a time. Written
//! out with a library of vectors, since whether a compiler makes such code of
//! a loop depends on how the whole program is optimised.

use wide::{u8x16, u16x8};

use super::parameters::NAME_SHARE;

/// Documents whose sums are looked at together: their sums fill half of the
/// registers that the smallest x86-64 has.
pub(super) const CHUNK: usize = 64;

/// Chunks whose crests are as many as the documents of a chunk.
pub(super) const GROUP: usize = CHUNK / WIDTH;

/// How many bounds a chunk has.
pub(super) const WIDTH: usize = 8;
const BYTES: usize = 2 * WIDTH;

/// What a 255th of a name adds to a sum, in 65,536ths of the sum.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small positive constant"
)]
const NAME_FACTOR: u16 = (NAME_SHARE * 65_536.0 / 255.0) as u16;

/// What the scores of a chunk are made of, beside rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'a> {
    /// Sums of impacts, if there are any.
    pub(super) sums: Option<&'a [u16; CHUNK]>,
    /// Shares of names, in 255ths.
    pub(super) shares: &'a [u8; CHUNK],
}

/// The sums or scores of one chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lanes([u16x8; CHUNK / WIDTH]);

impl Lanes {
    pub(super) const ZERO: Self = Self([u16x8::ZERO; CHUNK / WIDTH]);

    pub(super) fn new(sums: &[u16; CHUNK]) -> Self {
        let (parts, _) = sums.as_chunks::<WIDTH>();
        let mut lanes = [u16x8::ZERO; CHUNK / WIDTH];
        for (lane, part) in lanes.iter_mut().zip(parts) {
            *lane = u16x8::from(*part);
        }
        Self(lanes)
    }

    /// Adds the impacts of a term.
    pub(super) fn add(&mut self, impacts: &[u8; CHUNK]) {
        let (lanes, _) = self.0.as_chunks_mut::<2>();
        for ([low, high], impacts) in lanes.iter_mut().zip(wide_bytes(impacts)) {
            *low += u16x8::from_u8x16_low(impacts);
            *high += u16x8::from_u8x16_high(impacts);
        }
    }

    /// Adds what the shares of names and neighbours make of the sums. A score
    /// that would pass 16 bits is as good as the greatest.
    pub(super) fn score(&mut self, parts: Parts<'_>) {
        let (lanes, _) = self.0.as_chunks_mut::<2>();
        for ([low, high], shares) in lanes.iter_mut().zip(wide_bytes(parts.shares)) {
            *low = score(*low, u16x8::from_u8x16_low(shares));
            *high = score(*high, u16x8::from_u8x16_high(shares));
        }
    }

    /// What none of them exceeds, and some reach.
    pub(super) fn bound(&self) -> Bound {
        Bound(self.0.into_iter().fold(u16x8::ZERO, greater))
    }

    /// What no score of each chunk of a group exceeds, these being what the
    /// rows' crests add up to; 0 for chunks that there are not.
    pub(super) fn bounds<'a>(&self, parts: impl Fn(usize) -> Option<Parts<'a>>) -> [u16; GROUP] {
        let mut bounds = self.0;
        for (at, bound) in bounds.iter_mut().enumerate() {
            *bound = parts(at).map_or(u16x8::ZERO, |parts| Bound(*bound).with(parts).0);
        }
        let places = u16x8::transpose(bounds);
        places.into_iter().fold(u16x8::ZERO, greater).to_array()
    }

    /// The places of those that are at least so much, in order.
    pub(super) fn at_least(&self, least: u16) -> impl Iterator<Item = (usize, u16)> {
        let wanted = u16x8::splat(least);
        let mut found = 0_u64;
        for (place, lane) in self.0.iter().enumerate() {
            let reached = wanted.saturating_sub(*lane).simd_eq(u16x8::ZERO);
            found |= u64::from(reached.to_bitmask()) << (place * WIDTH);
        }
        std::iter::from_fn(move || {
            let place = found.trailing_zeros() as usize;
            found &= found.checked_sub(1)?;
            Some((place, self.get(place)))
        })
    }

    pub(super) fn get(&self, place: usize) -> u16 {
        self.0[place / WIDTH].as_array()[place % WIDTH]
    }
}

/// What the scores of a chunk do not exceed, each of eight those of every eighth
/// document: to reduce them to one would take longer than all else.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound(u16x8);

impl Bound {
    /// The bound of the scores of which this one is that of the rows alone.
    fn with(self, parts: Parts<'_>) -> Self {
        let shares = wide_bytes(parts.shares).fold(u8x16::ZERO, u8x16::max);
        let shares = greater(
            u16x8::from_u8x16_low(shares),
            u16x8::from_u8x16_high(shares),
        );
        let sums = parts
            .sums
            .map_or(u16x8::ZERO, |sums| Lanes::new(sums).bound().0);
        Self(score(sums + self.0, shares))
    }

    /// Whether a score may be at least so much.
    pub(super) fn reaches(self, least: u16) -> bool {
        let missing = u16x8::splat(least).saturating_sub(self.0);
        missing.simd_eq(u16x8::ZERO).to_bitmask() != 0
    }

    pub(super) fn greatest(self) -> u16 {
        self.0.to_array().into_iter().fold(0, u16::max)
    }
}

fn score(sums: u16x8, shares: u16x8) -> u16x8 {
    let names = sums.mul_keep_high(shares * u16x8::splat(NAME_FACTOR));
    sums.saturating_add(names)
}

/// The smallest x86-64 has no maximum of unsigned 16-bit numbers.
fn greater(a: u16x8, b: u16x8) -> u16x8 {
    b + a.saturating_sub(b)
}

fn wide_bytes(bytes: &[u8; CHUNK]) -> impl Iterator<Item = u8x16> {
    let (parts, _) = bytes.as_chunks::<BYTES>();
    parts.iter().map(|part| u8x16::from(*part))
}

/// What the name adds to a sum: [`NAME_SHARE`] of it for the whole name.
pub(super) fn name_impact(sum: u16, share: u8) -> u16 {
    let factor = u16::from(share).wrapping_mul(NAME_FACTOR);
    ((u32::from(sum) * u32::from(factor)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn chunk<T: Copy + std::fmt::Debug>(values: &[T]) -> [T; CHUNK] {
        values.try_into().expect("as many as asked for")
    }

    proptest! {
        #[test]
        fn every_lane_is_what_arithmetic_makes_of_it(
            sums in vec(0_u16..65_000, CHUNK),
            rows in vec(vec(any::<u8>(), CHUNK), 0..2),
            shares in vec(any::<u8>(), CHUNK),
            least in any::<u16>(),
        ) {
            let mut lanes = Lanes::new(&chunk(&sums));
            for row in &rows {
                lanes.add(&chunk(row));
            }
            let rows_alone = rows.iter().fold(Lanes::ZERO, |mut lanes, row| {
                lanes.add(&chunk(row));
                lanes
            });
            let (sums, shares) = (chunk(&sums), chunk(&shares));
            let parts = Parts { sums: Some(&sums), shares: &shares };
            let bound = rows_alone.bound().with(parts);
            lanes.score(parts);
            let expected: Vec<u16> = (0..CHUNK)
                .map(|at| {
                    let sum = rows.iter().fold(sums[at], |sum, row| sum + u16::from(row[at]));
                    sum.saturating_add(name_impact(sum, shares[at]))
                })
                .collect();
            let got: Vec<u16> = (0..CHUNK).map(|at| lanes.get(at)).collect();
            prop_assert_eq!(&got, &expected);
            prop_assert_eq!(Some(lanes.bound().greatest()), expected.iter().copied().max());
            prop_assert_eq!(lanes.bound().reaches(least), expected.iter().any(|score| *score >= least));
            prop_assert!(bound.reaches(lanes.bound().greatest()), "{bound:?} of {lanes:?}");
            let reached: Vec<_> = lanes.at_least(least).collect();
            let wanted: Vec<_> = expected.into_iter().enumerate().filter(|(_, score)| *score >= least).collect();
            prop_assert_eq!(reached, wanted);
        }
    }
}
