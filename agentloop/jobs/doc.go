// Package jobs keeps the background jobs of one agent: work that goes on while its model does
// something else, and asks from time to time how it goes.
//
// A [Table] starts a job, if there is a slot for it, and gives its ID. The job runs on a goroutine
// of its own, under a context that only Kill and Close end. What it says is captured, up to a
// limit and without ever making it wait; each [Table.Status] gives what is new. Once the job has
// ended its slot is free, and the status that tells so is the last one: the ID is not known any
// more then. Nothing here knows what a job does: package agentloop runs calls of tools as jobs.
//
//	table := jobs.New(nil)
//	defer table.Close()
//	started, err := table.Start(ctx, "build", func(ctx context.Context, j *jobs.Job) jobs.End {
//		j.Began()
//		j.Line("compiling")
//		return jobs.End{Code: new(0)}
//	})
//
// # Limits
//
// [DefaultMaxConcurrent] jobs run at a time, and [MaxOutput] bytes are captured of each, unless
// [Options] say less or more. [MaxEnded] jobs that have ended wait to be asked about; the oldest go
// first.
package jobs
