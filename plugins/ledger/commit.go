package ledger

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

// MaxBatch is how many operations share a transaction.
const MaxBatch = 128

// boundary, in tests, is called at the places where a process that dies leaves another ledger
// behind.
var boundary func(where string)

func at(where string) {
	if boundary != nil {
		boundary(where)
	}
}

// writer is the one goroutine of a process that writes to a ledger. A commit waits for the disk, so
// whatever is queued meanwhile goes into the next one together.
type writer struct {
	conn  *sql.Conn
	same  *prepared // conn
	wait  time.Duration
	sound func() error // tells why nothing may be written

	mu     sync.Mutex
	queue  []*op
	closed bool

	wake    chan struct{} // has room for one: there may be something in queue
	stopped chan struct{}
}

// op is an operation of one caller: it looks, decides and writes in the transaction it is given.
type op struct {
	do   func(t *tx) error // an error refuses this operation; it has written nothing
	undo func()            // what do did outside the transaction, if that is not committed
	err  error
	done chan struct{}
}

func newWriter(ctx context.Context, db *sql.DB, wait time.Duration, sound func() error) (*writer,
	error) {
	conn, err := impatient(ctx, db)
	if err != nil {
		return nil, err
	}
	w := &writer{conn: conn, same: prepare(conn), wait: wait, sound: sound,
		wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	go w.run()
	return w, nil
}

// commit carries out an operation and waits until it is on the disk. A context that ends takes the
// operation out of the queue; once it is being carried out, its end is waited for and counts.
func (w *writer) commit(ctx context.Context, do func(*tx) error, undo func()) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	o := &op{do: do, undo: undo, done: make(chan struct{})}
	if !w.push(o) {
		return ErrClosed
	}
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
	}
	if w.withdraw(o) {
		return context.Cause(ctx)
	}
	<-o.done
	return o.err
}

func (w *writer) push(o *op) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.queue = append(w.queue, o)
	w.signal()
	return true
}

// signal wakes the goroutine. The lock is held.
func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // it is awake already
	}
}

func (w *writer) withdraw(o *op) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.queue, o)
	if i < 0 {
		return false
	}
	w.queue = slices.Delete(w.queue, i, i+1)
	return true
}

// take takes up to n operations from the queue.
func (w *writer) take(n int) []*op {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = min(n, len(w.queue))
	batch := slices.Clone(w.queue[:n])
	w.queue = slices.Delete(w.queue, 0, n)
	return batch
}

func (w *writer) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue) == 0
}

// close refuses further operations, waits for those that are queued and ends the goroutine.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.signal()
	w.mu.Unlock()
	<-w.stopped
	return errors.Join(w.same.close(), w.conn.Close())
}

func (w *writer) run() {
	defer close(w.stopped)
	for range w.wake {
		for !w.idle() {
			w.commitBatch()
		}
		w.mu.Lock()
		over := w.closed && len(w.queue) == 0
		w.mu.Unlock()
		if over {
			return
		}
	}
}

// commitBatch commits what is queued in one transaction. Operations are taken once the transaction
// has begun, so that one whose caller leaves while another process holds the file is still out of
// it.
func (w *writer) commitBatch() {
	if err := begin(context.Background(), w.conn, w.wait, w.idle); err != nil {
		if !errors.Is(err, errIdle) {
			finish(w.take(MaxBatch), classify(err))
		}
		return
	}
	batch := w.take(MaxBatch)
	err := w.transact(batch)
	if err == nil || len(batch) == 1 {
		finish(batch, err)
		return
	}
	// One of them may be what the disk or the file refuses, so each has a try of its own.
	for i, o := range batch {
		if err = begin(context.Background(), w.conn, w.wait, nil); err == nil {
			err = w.transact(batch[i : i+1])
		}
		finish([]*op{o}, err)
	}
}

// finish tells the callers. An operation has an error of its own, or the transaction's.
func finish(batch []*op, err error) {
	for _, o := range batch {
		if err != nil {
			o.err = err
		}
		close(o.done)
	}
}

// transact carries out operations in the transaction that has begun, and commits it. On an error
// none of them has happened.
func (w *writer) transact(batch []*op) error {
	at("begun")
	t := &tx{w: w, now: time.Now(), err: w.sound()}
	for i := 0; i < len(batch) && t.err == nil; i++ {
		batch[i].err = batch[i].do(t)
	}
	if t.err == nil {
		at("before commit")
		t.exec("COMMIT")
		at("after commit")
	}
	if t.err == nil {
		return nil
	}
	_, _ = w.conn.ExecContext(context.Background(), "ROLLBACK") // SQLite may have done so itself
	for _, o := range batch {
		if o.undo != nil {
			o.undo()
		}
	}
	return classify(t.err)
}

// impatient is a connection that tells at once when the file is another's: retry waits better.
func impatient(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// errIdle is that there is nothing to begin a transaction for any more.
var errIdle = errors.New("nothing is queued")

// begin begins a transaction that writes.
func begin(ctx context.Context, conn *sql.Conn, wait time.Duration, idle func() bool) error {
	return retry(ctx, wait, idle, func() error {
		_, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		return err
	})
}

// How long a process sleeps before it tries again to get hold of the file. Transactions take a few
// hundred microseconds, and SQLite's own waiting sleeps up to a tenth of a second at a time, so
// that a busy process would starve the others.
const (
	minPause = 100 * time.Microsecond
	maxPause = 2 * time.Millisecond
)

// retry does what another process may stand in the way of, until wait is over, the context ends, or
// idle says that it is no longer needed.
func retry(ctx context.Context, wait time.Duration, idle func() bool, do func() error) error {
	until := time.Now().Add(wait)
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		err := do()
		switch {
		case code(err) != sqlite3.SQLITE_BUSY:
			return err
		case idle != nil && idle():
			return errIdle
		case time.Now().After(until):
			return classify(err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}
