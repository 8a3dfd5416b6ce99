package host

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host/internal/mount"
)

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
	// together to one that it may write to, less what they remove, as long as the module is open. 0
	// is the default.
	Bytes int64 // DefaultMountBytes
	Files int   // and directories and links, DefaultMountFiles
}

// Limits of mounts.
const (
	MaxMounts         = 64
	DefaultMountBytes = 64 << 20 // bytes
	DefaultMountFiles = 1000
)

// openMounts opens what a plugin was granted of files; nil when that is nothing.
func openMounts(list []Mount) (*mount.Set, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if len(list) > MaxMounts {
		return nil, fmt.Errorf("%d mounts, more than %d", len(list), MaxMounts)
	}
	mounts := make([]mount.Mount, len(list))
	for i, m := range list {
		if m.Bytes < 0 || m.Files < 0 {
			return nil, &MountError{m, errors.New("a quota is negative")}
		}
		mounts[i] = mount.Mount{Host: m.Host, Guest: m.Guest, Write: m.Write, Scratch: m.Scratch,
			Bytes: cmp.Or(m.Bytes, DefaultMountBytes), Files: cmp.Or(m.Files, DefaultMountFiles)}
	}
	set, err := mount.Open(mounts)
	if e, ok := errors.AsType[*mount.Error](err); ok {
		return nil, &MountError{list[e.Index], e.Err}
	}
	return set, err
}

// filesGuest is what the files of an instance ask of it.
func (in *instance) filesGuest() mount.Guest {
	return mount.Guest{
		Ready: func() bool { return in.run.inCall() },
		Look:  in.look,
		Away:  in.away,
		Spend: func(bytes int) { in.charge(uint64(bytes)) },
		Wrote: func() { in.run.effects.Files++ },
		Missing: func(text string, outside bool) {
			in.run.note = in.clean(text)
			level := abi.LevelDebug // a plugin may well look whether a file is there
			if outside {
				level = abi.LevelInfo
			}
			in.say(level, in.run.note)
		},
		Trouble: func(err error) {
			in.module.engine.logger.Warn("closing a plugin's files", "digest", in.module.Digest(),
				"error", err)
		},
	}
}
