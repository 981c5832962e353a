//! Scores of neighbouring documents, eight in a register at a time. Written
//! out with a library of vectors, since whether a compiler makes such code of
//! a loop depends on how the whole program is optimised.

use wide::{u8x16, u16x8};

use super::parameters::NAME_SHARE;

/// Documents whose sums are looked at together: their sums fill half of the
/// registers that the smallest x86-64 has.
pub(super) const CHUNK: usize = 64;

const WIDTH: usize = 8;
const BYTES: usize = 2 * WIDTH;

/// What a 255th of a name adds to a sum, in 65,536ths of the sum.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small positive constant"
)]
const NAME_FACTOR: u16 = (NAME_SHARE * 65_536.0 / 255.0) as u16;

/// The sums or scores of one chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lanes([u16x8; CHUNK / WIDTH]);

impl Lanes {
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

    /// Adds what the shares of names (in 255ths) and neighbours make of the
    /// sums. A score that would pass 16 bits is as good as the greatest.
    pub(super) fn score(&mut self, shares: &[u8; CHUNK], bonuses: &[u16; CHUNK]) {
        let factor = u16x8::splat(NAME_FACTOR);
        let bonuses = Self::new(bonuses);
        let (lanes, _) = self.0.as_chunks_mut::<2>();
        let (bonuses, _) = bonuses.0.as_chunks::<2>();
        for (([low, high], shares), bonuses) in
            lanes.iter_mut().zip(wide_bytes(shares)).zip(bonuses)
        {
            let with_name = |sum: u16x8, share: u16x8, bonus: u16x8| {
                let name = sum.mul_keep_high(share * factor);
                sum.saturating_add(name).saturating_add(bonus)
            };
            *low = with_name(*low, u16x8::from_u8x16_low(shares), bonuses[0]);
            *high = with_name(*high, u16x8::from_u8x16_high(shares), bonuses[1]);
        }
    }

    pub(super) fn greatest(&self) -> u16 {
        // The smallest x86-64 has no maximum of unsigned 16-bit numbers.
        let greater = |a: u16x8, b: u16x8| b + a.saturating_sub(b);
        let greatest = self.0.into_iter().fold(u16x8::ZERO, greater);
        greatest.to_array().into_iter().fold(0, u16::max)
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
            bonuses in vec(any::<u16>(), CHUNK),
            least in any::<u16>(),
        ) {
            let mut lanes = Lanes::new(&chunk(&sums));
            for row in &rows {
                lanes.add(&chunk(row));
            }
            lanes.score(&chunk(&shares), &chunk(&bonuses));
            let expected: Vec<u16> = (0..CHUNK)
                .map(|at| {
                    let sum = rows.iter().fold(sums[at], |sum, row| sum + u16::from(row[at]));
                    sum.saturating_add(name_impact(sum, shares[at])).saturating_add(bonuses[at])
                })
                .collect();
            let got: Vec<u16> = (0..CHUNK).map(|at| lanes.get(at)).collect();
            prop_assert_eq!(&got, &expected);
            prop_assert_eq!(Some(lanes.greatest()), expected.iter().copied().max());
            let reached: Vec<_> = lanes.at_least(least).collect();
            let wanted: Vec<_> = expected.into_iter().enumerate().filter(|(_, score)| *score >= least).collect();
            prop_assert_eq!(reached, wanted);
        }
    }
}
