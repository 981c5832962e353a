//! Lists of documents, ascending, with a small number beside each: an impact, a
//! share of a name, a mask of fields. They are most of what a request reads, so
//! they are short: two bytes for a document that is near the one before.

/// What lists are counted in.
pub(super) type Unit = [u8; 2];

/// The longest step to the next document of a near list.
const STEP: u8 = u8::MAX;

/// Units of an entry of a far list.
const FAR: usize = size_of::<[u8; 4]>() / size_of::<Unit>();

/// How long a list is, and of which kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shape {
    units: u32,
    is_far: bool,
}

impl Shape {
    /// More units than this do not fit the number.
    const MAX_UNITS: u32 = u32::MAX >> 2;

    /// As a number below 2³¹.
    pub(super) fn to_number(self) -> u32 {
        self.units << 1 | u32::from(self.is_far)
    }

    pub(super) fn from_number(number: u32) -> Self {
        Self {
            units: number >> 1 & Self::MAX_UNITS,
            is_far: number & 1 == 1,
        }
    }

    pub(super) fn units(self) -> usize {
        self.units as usize
    }

    /// The list of this shape that lies in these units.
    pub(super) fn list(self, units: &[Unit]) -> List<'_> {
        list(units, self.is_far)
    }

    pub(super) fn is_far(self) -> bool {
        self.is_far
    }
}

/// The list that lies in these units.
pub(super) fn list(units: &[Unit], is_far: bool) -> List<'_> {
    if is_far {
        List::Far(units.as_flattened().as_chunks().0)
    } else {
        let bytes = units.as_flattened();
        let (steps, numbers) = bytes.split_at(bytes.len() / 2);
        List::Near(steps, numbers)
    }
}

/// A list as it lies in a table.
#[derive(Debug, Clone, Copy)]
pub(super) enum List<'a> {
    /// Steps from the document before, or from the first of all; as many
    /// numbers. A longer way takes several steps, and those on the way have the
    /// number 0.
    Near(&'a [u8], &'a [u8]),
    /// Numbers, and documents in 24 bits.
    Far(&'a [[u8; 4]]),
}

/// What numbers are added up to.
pub(super) trait Sum {
    /// Wraps, which only a damaged table brings about.
    fn add(&mut self, number: u8);
}

impl Sum for u8 {
    fn add(&mut self, number: u8) {
        *self = self.wrapping_add(number);
    }
}

impl Sum for u16 {
    fn add(&mut self, number: u8) {
        *self = self.wrapping_add(number.into());
    }
}

/// Sums for so many documents must be followed by as many that are not used.
pub(super) const SLACK: usize = 1_024;

impl List<'_> {
    /// Adds each number to the sum of its document. `None` where there is no
    /// such sum; of the documents, [`SLACK`] must be behind the last.
    pub(super) fn add_to(self, sums: &mut [impl Sum]) -> Option<()> {
        match self {
            Self::Near(steps, numbers) => add_near(steps, numbers, sums),
            Self::Far(entries) => entries.iter().try_for_each(|entry| {
                let [number, ..] = *entry;
                sums.get_mut(far_document(entry))?.add(number);
                Some(())
            }),
        }
    }

    /// Calls for each document, and perhaps with the number 0 for others;
    /// `None` as soon as the call says so.
    fn each(self, mut call: impl FnMut(usize, u8) -> Option<()>) -> Option<()> {
        match self {
            Self::Near(steps, numbers) => {
                let mut document = 0;
                for (step, number) in steps.iter().zip(numbers) {
                    document += usize::from(*step);
                    call(document, *number)?;
                }
            }
            Self::Far(entries) => {
                for entry in entries {
                    call(far_document(entry), entry[0])?;
                }
            }
        }
        Some(())
    }

    /// The number beside a document, 0 where the list lacks it.
    pub(super) fn get(self, document: u32) -> u8 {
        let mut found = 0;
        // Says no at the first document that is behind it.
        let _ = self.each(|at, number| {
            if at == document as usize {
                found |= number;
            }
            (at <= document as usize).then_some(())
        });
        found
    }
}

/// Steps four at a time: they lead over fewer than [`SLACK`] documents, so that
/// one look at the bounds is enough for them.
fn add_near(steps: &[u8], numbers: &[u8], sums: &mut [impl Sum]) -> Option<()> {
    let ((four_steps, steps), (four_numbers, numbers)) = (steps.as_chunks(), numbers.as_chunks());
    let mut document = 0;
    for ([a, b, c, d], numbers) in four_steps.iter().zip(four_numbers) {
        let sums: &mut [_; SLACK] = sums.get_mut(document..)?.first_chunk_mut()?;
        let mut way = 0;
        for (step, number) in [a, b, c, d].into_iter().zip::<&[u8; 4]>(numbers) {
            way += usize::from(*step);
            sums[way].add(*number);
        }
        document += way;
    }
    for (step, number) in steps.iter().zip(numbers) {
        document += usize::from(*step);
        sums.get_mut(document)?.add(*number);
    }
    Some(())
}

fn far_document(entry: &[u8; 4]) -> usize {
    (u32::from_le_bytes(*entry) >> 8) as usize
}

/// Appends the list of these documents, ascending, to the units, in the shorter
/// way. Whoever has the number 0 is left out.
pub(super) fn put(list: impl Iterator<Item = (u32, u8)> + Clone, units: &mut Vec<Unit>) -> Shape {
    let list = list.filter(|(_, number)| *number > 0);
    let start = units.len();
    let is_far =
        list.clone().count() * FAR < steps(list.clone()).map(|(way, _)| entries(way)).sum();
    if is_far {
        for (document, number) in list {
            let [low, middle, high, _] = document.to_le_bytes();
            units.extend([[number, low], [middle, high]]);
        }
    } else {
        let (mut steps_taken, mut numbers) = (Vec::new(), Vec::new());
        for (way, number) in steps(list) {
            steps_taken.resize(steps_taken.len() + entries(way) - 1, STEP);
            steps_taken.push(last_step(way));
            numbers.resize(steps_taken.len() - 1, 0);
            numbers.push(number);
        }
        steps_taken.extend(numbers);
        units.extend(steps_taken.as_chunks().0);
    }
    Shape {
        // Of the two ways the longer has two units for each of 2²⁴ documents.
        units: u32::try_from(units.len() - start).unwrap_or(u32::MAX),
        is_far,
    }
}

/// The ways from document to document, and the numbers.
fn steps(list: impl Iterator<Item = (u32, u8)>) -> impl Iterator<Item = (u32, u8)> {
    list.scan(0, |before, (document, number)| {
        let way = document - std::mem::replace(before, document);
        Some((way, number))
    })
}

/// How many entries of a near list a way takes.
fn entries(way: u32) -> usize {
    way.div_ceil(STEP.into()).max(1) as usize
}

/// The last step of a way.
fn last_step(way: u32) -> u8 {
    match u8::try_from(way % u32::from(STEP)) {
        Ok(0) if way > 0 => STEP,
        Ok(step) => step,
        Err(_) => STEP,
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_map;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_come_back_as_they_were_put(
            near in btree_map(0_u32..2_000, any::<u8>(), 0..200),
            far in btree_map(0_u32..1 << 24, any::<u8>(), 0..20),
            before in 0..3_usize,
        ) {
            for list in [near, far] {
                let mut units = vec![[7, 7]; before];
                let shape = put(list.iter().map(|(at, number)| (*at, *number)), &mut units);
                prop_assert_eq!(shape.units(), units.len() - before);
                prop_assert!(shape.units() <= 2 * list.len(), "never longer than the far way");
                prop_assert_eq!(Shape::from_number(shape.to_number()), shape);
                let read = shape.list(&units[before..]);
                let mut found = Vec::new();
                read.each(|at, number| {
                    if number > 0 {
                        found.push((at, number));
                    }
                    Some(())
                });
                let expected: Vec<_> = list
                    .iter()
                    .filter(|(_, number)| **number > 0)
                    .map(|(at, number)| (*at as usize, *number))
                    .collect();
                prop_assert_eq!(&found, &expected);
                let last = found.last().map_or(0, |it| it.0);
                let mut sums = vec![7_u16; last + 1 + SLACK];
                read.add_to(&mut sums);
                let added: Vec<_> = (0..).zip(&sums).filter(|(_, sum)| **sum != 7).map(|(at, sum)| (at, (sum - 7) as u8)).collect();
                prop_assert_eq!(&added, &expected);
                prop_assert_eq!(read.add_to(&mut sums[..last]), expected.first().map_or(Some(()), |_| None));
                for at in list.keys().flat_map(|at| [at.saturating_sub(1), *at, at + 1]) {
                    prop_assert_eq!(read.get(at), list.get(&at).copied().unwrap_or(0));
                }
            }
        }
    }

    #[test]
    fn frequent_documents_take_two_bytes_and_rare_ones_four() {
        let shape = |step: u32| put((0..10).map(|at| (at * step, 1)), &mut Vec::new());
        assert_eq!(shape(255).units(), 10);
        assert_eq!(
            shape(256).units(),
            19,
            "the first document is the first of all"
        );
        assert_eq!(shape(5_000).units(), 20);
    }
}
