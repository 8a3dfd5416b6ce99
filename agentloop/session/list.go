package session

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Info is what a list tells of a session.
type Info struct {
	Name     string
	Header   Header
	Meta     Meta
	Bytes    int64
	Modified time.Time // when the last message was stored
	Err      error     // why the rest is not known
}

// List lists the sessions, those that were written last first. It reads a header and a meta file
// each, so a session without an Err may still have a broken line. A broken one hides no other; more
// than MaxSessions are an error.
func (d *Dir) List() ([]Info, error) {
	folder, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	var list []Info
	for {
		names, err := folder.Readdirnames(1000)
		if err != nil && err != io.EOF {
			return nil, err
		}
		for _, file := range names {
			name, ok := strings.CutSuffix(file, sessionFile(""))
			if !ok || checkName(name) != nil {
				continue
			}
			if len(list) == MaxSessions {
				return nil, fmt.Errorf("%s has more than %d sessions", d.folder, MaxSessions)
			}
			list = append(list, d.info(name))
		}
		if err == io.EOF {
			break
		}
	}
	slices.SortFunc(list, func(a, b Info) int {
		return cmp.Or(b.Modified.Compare(a.Modified), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

func (d *Dir) info(name string) Info {
	i := Info{Name: name}
	stat, err := d.stat(sessionFile(name), MaxFile)
	if err == nil {
		i.Bytes, i.Modified = stat.Size(), stat.ModTime()
		i.Header, err = d.readHeader(name)
	}
	var bad error
	if i.Meta, bad = d.readMeta(name); i.Meta.Counts != nil && i.Meta.Counts.Bytes != i.Bytes {
		i.Meta.Counts = nil
	}
	i.Err = errors.Join(err, bad)
	return i
}

func (d *Dir) readHeader(name string) (Header, error) {
	file := sessionFile(name)
	f, err := d.open(file, MaxFile)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	const most = MaxHeader + 1 // enough to see that it is too long
	var t Transcript
	line, err := readLine(bufio.NewReaderSize(io.LimitReader(f, most), most), most)
	if err == nil && len(line) == 0 {
		return Header{}, &InvalidError{File: d.path(file), Detail: emptyFile}
	}
	if err == nil {
		err = t.take(line)
	}
	if broken := new(lineError); errors.As(err, &broken) {
		err = &InvalidError{File: d.path(file), Line: 1, Detail: broken.detail}
	}
	return t.Header, err
}
