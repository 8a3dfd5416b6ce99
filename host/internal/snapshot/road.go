package snapshot

// Road is a way to find what a call wrote.
type Road uint8

const (
	Auto    Road = iota // Copy up to SmallImage, Best above
	Copy                // the whole image is written again
	Drop                // all private pages go back to the kernel and are faulted in again
	Pagemap             // private pages are read from /proc/self/pagemap and copied
	Scan                // private pages are told by the PAGEMAP_SCAN call and copied
)

func (r Road) String() string {
	return [...]string{"auto", "copy", "drop", "pagemap", "scan"}[r]
}

// Best is the best road of this system for images above [SmallImage], found by trying.
func Best() Road { return best() }

// Stats tell what the last restore did.
type Stats struct {
	Road     Road  // for the image's own pages; now and then Drop, see the package's text
	Copied   int64 // bytes written back or cleared
	Resident int64 // bytes of private memory that may stay with the instance
	Known    bool  // the pages were known from the restore before, and the system was not asked
}
