// Package snapshot gives a guest's linear memory back the state it had when it was photographed,
// after every call and for about the price of the pages that the call wrote.
//
// An [Image] is the photograph: the bytes of a memory, sealed, shared by every clone. A [Memory] is
// the linear memory of one instance. It reserves address space for its limit, grows inside that
// reservation, and sees an image through a private mapping, so that clones share what they only
// read. [Memory.Restore] finds what a call wrote, puts it back, clears what the memory grew by and
// gives the instance its old size again.
//
//	first, err := snapshot.New(limit, &snapshot.Options{Min: min})
//	… instantiate with first as the allocator, apply data, initialise …
//	image, err := snapshot.NewImage(memory)      // the bytes that the guest has now
//	err = first.Adopt(image)                     // the first instance becomes a clone
//	clone, err := snapshot.New(limit, &snapshot.Options{Image: image})
//	… instantiate with clone as the allocator, call …
//	err = clone.Restore(module.Memory())
//
// # Roads
//
// How the written pages are found is a [Road]. On 64-bit Linux it is chosen once, by trying each on
// a small memory of its own: [Scan] asks the kernel for the private pages (Linux 6.7), [Pagemap]
// reads them from /proc/self/pagemap, [Drop] gives all private pages back to the kernel, so that
// the next call faults them in again. [Copy] writes the whole image and needs nothing; it is taken
// for images of at most [SmallImage] bytes everywhere. Other systems, and 32-bit ones, keep memory
// and image in the heap and always copy: there a restore costs the size of the image, and every
// instance costs it in resident memory.
//
// A private page that was swapped out counts as written. Pages above the image are zero after a
// restore, also when the memory grows again. Huge pages are refused for the mapping, since one
// written byte would cost two megabytes; pages that the kernel merged with equal ones stay private
// and are treated as such.
//
// # Limits
//
// A memory never grows past the smallest of the module's declared maximum, the limit it was made
// with and [MaxSize]; the host's total budget is asked through [Options.Charge]. The guest sees −1,
// and [Memory.Denied] says what stood in the way.
//
// Pages that calls wrote stay with the instance, up to [Options.Keep], since writing a page again
// takes a twentieth of the time that faulting it in takes. Every restore writes all of them, so one
// large call would slow all later ones: pages are dropped when a call left more than twice as many
// as before, and from time to time to see whether they are still in use, the rarer the more often
// they came back. [Memory.Trim] gives all of them back, for an instance that idles.
//
// # With wazero
//
// wazero's allocator interface has no errors: a nil memory, or a minimum that is refused, is a
// panic inside instantiation. So the mapping is made, and the minimum charged, by [New], which can
// say no; the Memory that it returns is an allocator for exactly one instantiation and does not
// refuse a size that it already has. The module's minimum must be [Options.Min] or the image's
// size at most. wazero frees the memory when the instance closes; until then, and when the
// instantiation failed, Close is the host's to call. Nothing may touch a module's memory after
// that: the addresses are gone.
//
// A memory belongs to one goroutine at a time. An image is safe for concurrent use.
package snapshot
