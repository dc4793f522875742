//! A pointer to what the work blocks of a colour write side by side.

/// A pointer that work blocks of one colour share: no two of them touch the same element.
#[derive(Clone, Copy, Debug)]
pub struct Shared<T>(pub(super) *mut T);

// SAFETY: whoever reads or writes through the pointer promises that nobody else does so for the same
// element at the same time; see the methods.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// A pointer to all elements of a slice, which must outlive it.
    pub fn new(slice: &mut [T]) -> Self {
        Self(slice.as_mut_ptr())
    }

    /// One element.
    ///
    /// # Safety
    /// `index` is within the slice, and nobody else uses this element meanwhile.
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller promises that it is the only one"
    )]
    pub unsafe fn get(&self, index: usize) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.0.add(index) }
    }

    /// A copy of one element.
    ///
    /// # Safety
    /// `index` is within the slice, and nobody writes this element meanwhile.
    pub unsafe fn read(&self, index: usize) -> T
    where
        T: Copy,
    {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(index).read() }
    }

    /// A run of elements.
    ///
    /// # Safety
    /// The range is within the slice, and nobody else uses these elements meanwhile.
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller promises that it is the only one"
    )]
    pub unsafe fn slice(&self, range: std::ops::Range<usize>) -> &mut [T] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(range.start), range.len()) }
    }
}
