// Package sdkchild is the process that runs Extism's own SDK for the engine "extism-sdk" of package
// extism. Only a program that serves as that process needs it, and links the SDK:
//
//	if len(os.Args) == 2 && os.Args[1] == "__extism_sdk" {
//		os.Exit(sdkchild.Serve(os.Stdin, os.Stdout, os.Stderr))
//	}
//
// The SDK can be hung by its guests in ways that nothing inside its process ends: in pure recursion,
// and in the code of its own kernel, whose heap a guest can reach. So it has a process of its own,
// which the host kills. What else the SDK does not hold, this process does:
//
//   - each call has an instance of its own, which is thrown away;
//   - one allocator counts all memories of a call, those of linked modules and of the kernel too;
//   - an output outside of the kernel's memory is refused where it is set;
//   - the SDK's HTTP client sends nothing, but asks the host, and follows no redirects.
package sdkchild
