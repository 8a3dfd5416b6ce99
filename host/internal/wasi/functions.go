package wasi

import (
	"context"

	"github.com/tetratelabs/wazero/api"
)

// Module is the name that guests import the functions from.
const Module = "wasi_snapshot_preview1"

// Function is one import, to be exported with its types into a host module named [Module].
type Function struct {
	Name            string
	Params, Results []api.ValueType
	Call            api.GoModuleFunc
}

// Functions are all functions of WASI, in the order of the specification. state finds the State of
// the calling instance in the context that its call was made with.
func Functions(state func(context.Context) *State) []Function {
	fs := make([]Function, 0, len(table))
	for _, e := range table {
		f := Function{Name: e.name, Params: types(e.params), Results: types("i")}
		handle := e.handle
		f.Call = func(ctx context.Context, mod api.Module, stack []uint64) {
			s := state(ctx)
			s.spend(0)
			stack[0] = uint64(handle(ctx, s, mod.Memory(), stack))
		}
		if e.name == "proc_exit" {
			f.Results, f.Call = nil, procExit
		}
		fs = append(fs, f)
	}
	return fs
}

// types reads a row of value types: i is i32, I is i64.
func types(row string) []api.ValueType {
	ts := make([]api.ValueType, len(row))
	for n, c := range row {
		ts[n] = api.ValueTypeI32
		if c == 'I' {
			ts[n] = api.ValueTypeI64
		}
	}
	return ts
}

// handler is a function with its parameters as they lie on the stack.
type handler func(ctx context.Context, s *State, mem api.Memory, params []uint64) Errno

type entry struct {
	name   string
	params string // see types
	handle handler
}

var table = []entry{
	{"args_get", "ii", argsGet},
	{"args_sizes_get", "ii", argsSizesGet},
	{"environ_get", "ii", environGet},
	{"environ_sizes_get", "ii", environSizesGet},
	{"clock_res_get", "ii", clockResGet},
	{"clock_time_get", "iIi", clockTimeGet},
	onStream("fd_advise", "iIIi", answer(Spipe)),
	onStream("fd_allocate", "iII", answer(Spipe)),
	onStream("fd_close", "i", fdClose),
	onStream("fd_datasync", "i", answer(Success)),
	onStream("fd_fdstat_get", "ii", fdFdstatGet),
	onStream("fd_fdstat_set_flags", "ii", fdFdstatSetFlags),
	onStream("fd_fdstat_set_rights", "iII", answer(Notsup)),
	onStream("fd_filestat_get", "ii", fdFilestatGet),
	onStream("fd_filestat_set_size", "iI", answer(Inval)),
	onStream("fd_filestat_set_times", "iIIi", answer(Notsup)),
	onStream("fd_pread", "iiiIi", answer(Spipe)),
	onStream("fd_prestat_get", "ii", answer(Badf)),
	onStream("fd_prestat_dir_name", "iii", answer(Badf)),
	onStream("fd_pwrite", "iiiIi", answer(Spipe)),
	onStream("fd_read", "iiii", fdRead),
	onStream("fd_readdir", "iiiIi", answer(Notdir)),
	{"fd_renumber", "ii", fdRenumber},
	onStream("fd_seek", "iIii", answer(Spipe)),
	onStream("fd_sync", "i", answer(Success)),
	onStream("fd_tell", "ii", answer(Spipe)),
	onStream("fd_write", "iiii", fdWrite),
	byPath("path_create_directory", "iii"),
	byPath("path_filestat_get", "iiiii"),
	byPath("path_filestat_set_times", "iiiiIIi"),
	byPath("path_link", "iiiiiii"),
	byPath("path_open", "iiiiiIIii"),
	byPath("path_readlink", "iiiiii"),
	byPath("path_remove_directory", "iii"),
	byPath("path_rename", "iiiiii"),
	byPath("path_symlink", "iiiii"),
	byPath("path_unlink_file", "iii"),
	{"poll_oneoff", "iiii", pollOneoff},
	{"proc_exit", "i", nil},
	{"proc_raise", "i", unsupported},
	{"sched_yield", "", schedYield},
	{"random_get", "ii", randomGet},
	{"sock_accept", "iii", unsupported},
	{"sock_recv", "iiiiii", unsupported},
	{"sock_send", "iiiii", unsupported},
	{"sock_shutdown", "ii", unsupported},
}

// streamHandler is a function whose first parameter is an open standard stream.
type streamHandler func(s *State, st stream, mem api.Memory, params []uint64) Errno

// onStream is a function of a descriptor: the standard streams are served here, others by Files.
func onStream(name, params string, h streamHandler) entry {
	return entry{name, params, func(
		ctx context.Context, s *State, mem api.Memory, params []uint64) Errno {
		fd := uint32(params[0])
		if fd >= FirstFile {
			return s.file(ctx, mem, name, params, Badf)
		}
		st, ok := s.stream(fd)
		if !ok {
			return Badf
		}
		return h(s, st, mem, params)
	}}
}

func answer(e Errno) streamHandler {
	return func(*State, stream, api.Memory, []uint64) Errno { return e }
}

// byPath is a function of a path.
func byPath(name, params string) entry {
	return entry{name, params, func(
		ctx context.Context, s *State, mem api.Memory, params []uint64) Errno {
		return s.file(ctx, mem, name, params, Notcapable)
	}}
}

func unsupported(context.Context, *State, api.Memory, []uint64) Errno { return Notsup }
