package guest

import (
	"runtime"
	"unsafe"

	"github.com/wasmagent/wasmagent/abi"
)

// firstBuffer is how many bytes of a request, a reply or an answer there is room for from the
// start. What is larger costs one more host call.
const firstBuffer = 64 << 10

// The buffers live as long as the instance, so that the host never sees memory that the collector
// has taken back. They are made before the first call.
var request, reply = make([]byte, firstBuffer), make([]byte, 0, firstBuffer)

//go:wasmexport wasmagent_describe
func describe() {
	m := Self.Manifest()
	give(abi.AppendManifest(reply[:0], &m))
}

// warmup leaves the state that every call starts from. It collects, since a collection that is
// nearly due would be paid for in each of them, and warms again, so that what the allocator takes
// up after a collection is there too.
//
//go:wasmexport wasmagent_warmup
func warmup() {
	serve(job{warm: true})
	runtime.GC()
	serve(job{warm: true})
}

//go:wasmexport wasmagent_call
func call() {
	give(serve(job{request: takeRequest()}))
}

// job is a request to be served, or the order to warm up.
type job struct {
	request []byte
	warm    bool
}

// One goroutine serves all jobs. Its stack has grown in the warm-up; that of the goroutine which Go
// makes for each call from outside would grow anew every time.
var jobs, replies = make(chan job), make(chan []byte)

func init() { go work() }

func work() {
	for j := range jobs {
		if j.warm {
			Self.Warm(linked{})
			replies <- nil
		} else {
			replies <- Self.Serve(linked{}, j.request, reply[:0])
		}
	}
}

func serve(j job) []byte {
	jobs <- j
	return <-replies
}

func takeRequest() []byte {
	n := int(input(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request))))
	if n > len(request) {
		request = make([]byte, n)
		n = int(input(unsafe.Pointer(unsafe.SliceData(request)), uint32(n)))
	}
	return request[:n]
}

func give(b []byte) {
	output(unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
	runtime.KeepAlive(b)
}

// linked is the real host.
type linked struct{}

func (linked) Log(level abi.Level, text string) { log(uint32(level), text) }

func (linked) Progress(p abi.Progress) {
	b := abi.AppendProgress(nil, &p)
	progress(unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
	runtime.KeepAlive(b)
}

func (linked) Cancelled() bool { return cancelled() != 0 }

func (linked) Config(key string) abi.Raw { return answer(config(key)) }

func (linked) Monotonic() int64 {
	var t int64
	clock(clockMonotonic, 0, &t)
	return t
}

// answer takes the n bytes that the last host call left for the guest.
func answer(n uint32) []byte {
	b := make([]byte, n)
	result(unsafe.Pointer(unsafe.SliceData(b)), n)
	return b
}
