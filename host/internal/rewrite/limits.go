package rewrite

import "fmt"

// Limits bound what a module may declare. A zero field is its default, never "no limit". Real
// guests stay well below: the package's tests print a table of them.
type Limits struct {
	Module        int // bytes of the whole module
	Params        int // parameters of a function type, and results
	Functions     int // functions defined and imported
	Locals        int // locals of a function, parameters included
	ModuleLocals  int // locals of all functions together
	Nesting       int // blocks inside each other
	LoopNesting   int // loops inside each other
	BranchTable   int // targets of one br_table
	Checks        int // loops and operations priced by length, of all functions: each grows the module
	Tables        int // tables
	TableElements int // elements that all tables start with; also what they may grow to, in equal shares
	Names         int // names of functions, locals and labels
	DataSegments  int // Go guests have tens of thousands
	Items         int // whatever else is declared outside of code, such as types with their
	// parameters, imports, globals, exports, elements and custom sections

	// The limits below are those of compiling inside the host's process. A module over them is not
	// refused: Facts.Oversize names them, and the module wants a compiler in a child process.

	Body      int // bytes of a function body
	Product   int // loops × locals × blocks of a function: compile time grows with it,
	BackEdges int // and with branches back to loops × locals of a function
	Work      int // of compiling all functions, as estimated; a unit is some 20 ns
}

// Defaults of Limits.
const (
	DefaultModule        = 32 << 20
	DefaultParams        = 1_000
	DefaultFunctions     = 100_000
	DefaultLocals        = 50_000
	DefaultModuleLocals  = 1_000_000
	DefaultNesting       = 16_384
	DefaultLoopNesting   = 64
	DefaultBranchTable   = 32_768
	DefaultChecks        = 1_000_000
	DefaultTables        = 64
	DefaultTableElements = 65_536
	DefaultNames         = 1_000_000
	DefaultDataSegments  = 1_000_000
	DefaultItems         = 200_000
	DefaultBody          = 1 << 20
	DefaultProduct       = 200_000_000
	DefaultBackEdges     = 1_000_000
	DefaultWork          = 600_000_000
)

func (l *Limits) withDefaults() Limits {
	var out Limits
	if l != nil {
		out = *l
	}
	def := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	def(&out.Module, DefaultModule)
	def(&out.Params, DefaultParams)
	def(&out.Functions, DefaultFunctions)
	def(&out.Locals, DefaultLocals)
	def(&out.ModuleLocals, DefaultModuleLocals)
	def(&out.Nesting, DefaultNesting)
	def(&out.LoopNesting, DefaultLoopNesting)
	def(&out.BranchTable, DefaultBranchTable)
	def(&out.Checks, DefaultChecks)
	def(&out.Tables, DefaultTables)
	def(&out.TableElements, DefaultTableElements)
	def(&out.Names, DefaultNames)
	def(&out.DataSegments, DefaultDataSegments)
	def(&out.Items, DefaultItems)
	def(&out.Body, DefaultBody)
	def(&out.Product, DefaultProduct)
	def(&out.BackEdges, DefaultBackEdges)
	def(&out.Work, DefaultWork)
	return out
}

// overLimit says that a count passed a limit.
func overLimit(what string, got uint64, limit int) string {
	return fmt.Sprintf("%d %s, the limit is %d", got, what, limit)
}
