// Package near tells how far a mistyped name is from the one that was perhaps meant.
package near

// Distance counts the insertions, deletions, replacements and swaps of neighbours, in bytes, that
// turn a into b. It takes time len(a) × len(b): whoever has names of strangers cuts them first.
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			far := last[j]
			if a[i] != b[j] {
				far = 1 + min(last[j], row[j], last[j+1])
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				far = min(far, 1+before[j-1])
			}
			row[j+1] = far
		}
	}
	return row[len(b)]
}
