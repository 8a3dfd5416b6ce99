package host

// Mount lets a plugin see a directory or a single file.
type Mount struct {
	// Host is the absolute path of a directory or of a regular file; "" with Scratch. It is opened
	// when the plugin is loaded: what is moved to its place later is not seen.
	Host string
	// Guest is the absolute path at which the plugin sees it. No mount lies inside another.
	Guest string
	// Write lets the plugin change what it sees. What it changed stays, however its call ends.
	Write bool
	// Scratch is a directory that is empty at every call, and gone after it.
	Scratch bool
	// Bytes and Files are what the plugin may add: each call to a scratch directory, all calls
	// together to one that it may write to, less what they remove. 0 is the default.
	Bytes int64 // DefaultMountBytes
	Files int   // and directories and links, DefaultMountFiles
}

// Limits of mounts.
const (
	MaxMounts         = 64
	DefaultMountBytes = 64 << 20 // bytes
	DefaultMountFiles = 1000
)
