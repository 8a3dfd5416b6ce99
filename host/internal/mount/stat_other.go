//go:build !unix

package mount

import (
	"io/fs"
	"os"
	"time"

	"github.com/wasmagent/wasmagent/host/internal/wasi"
)

func identity(fs.FileInfo) (dev, inode, links uint64) { return 0, 0, 1 }

func setTimes(*os.File, time.Time, time.Time) error { return refuse(wasi.Notsup) }
