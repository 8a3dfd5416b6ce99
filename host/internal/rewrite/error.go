package rewrite

import (
	"fmt"
	"strings"
)

// Error is a module that is refused: where, which limit, and why. It never quotes names out of the
// module except in quotation marks with everything unprintable escaped.
type Error struct {
	Section  string // "header", "type", "code", ... "custom"
	Function int    // its index among all functions, imports first; -1 when it is about none
	Offset   int    // in bytes from the module's start
	Limit    string // the field of [Limits] that was passed; empty for a broken structure
	Detail   string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Section)
	if e.Section != sectionHeader {
		b.WriteString(" section")
	}
	if e.Function >= 0 {
		fmt.Fprintf(&b, ", function %d", e.Function)
	}
	fmt.Fprintf(&b, ", offset %d: %s", e.Offset, e.Detail)
	return b.String()
}

// Section identifiers of the binary format.
const (
	secCustom    = 0
	secType      = 1
	secImport    = 2
	secFunction  = 3
	secTable     = 4
	secMemory    = 5
	secGlobal    = 6
	secExport    = 7
	secStart     = 8
	secElement   = 9
	secCode      = 10
	secData      = 11
	secDataCount = 12
	secTag       = 13
	numSections  = 14
)

const sectionHeader = "header"

var sectionNames = [numSections]string{
	"custom", "type", "import", "function", "table", "memory", "global", "export", "start",
	"element", "code", "data", "data count", "tag",
}

// sectionOrder is the place of each section in a module. Custom sections go anywhere.
var sectionOrder = [numSections]int{
	secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secTag: 6, secGlobal: 7,
	secExport: 8, secStart: 9, secElement: 10, secDataCount: 11, secCode: 12, secData: 13,
}
