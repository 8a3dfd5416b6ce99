package main

import (
	"fmt"
	"time"
	_ "time/tzdata" // the rules of all zones: a sandbox has no files to read them from

	"github.com/wasmagent/wasmagent/pdk"
)

// maxZoneBytes is how long the name of a time zone may be.
const maxZoneBytes = 64

// zone finds a time zone by its IANA name or its offset; "" gives nil.
func zone(pointer, name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	if len(name) > maxZoneBytes {
		return nil, pdk.InvalidInput(pointer,
			fmt.Sprintf("%d bytes, at most %d", len(name), maxZoneBytes))
	}
	if name[0] == '+' || name[0] == '-' {
		if t, err := time.Parse("-07:00", name); err == nil {
			_, offset := t.Zone()
			return time.FixedZone(name, offset), nil
		}
	}
	z, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, pdk.InvalidInput(pointer, fmt.Sprintf("no time zone %q; use an IANA name such "+
			"as Europe/Berlin or America/New_York, or an offset such as +02:00", name))
	}
	return z, nil
}

// inZone gives t in z; without a zone t keeps its own offset.
func inZone(t time.Time, z *time.Location) time.Time {
	if z != nil {
		return t.In(z)
	}
	if _, offset := t.Zone(); offset == 0 {
		return t.UTC()
	}
	return t.In(time.FixedZone(t.Format("-07:00"), offsetOf(t)))
}

func offsetOf(t time.Time) int {
	_, offset := t.Zone()
	return offset
}

// wallOf gives the fields of t's clock as a time in UTC, so that they can be computed with.
func wallOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(),
		time.UTC)
}

// moments gives the times at which the clocks of z show wall: none where they skip it, two where
// they show it twice. Where there is none, later is as far behind the gap as wall is in it.
func moments(wall time.Time, z *time.Location) (at []time.Time, later time.Time) {
	try := func(offset int) time.Time {
		return wall.Add(-time.Duration(offset) * time.Second).In(z)
	}
	before := offsetOf(wall.Add(-24 * time.Hour).In(z))
	after := offsetOf(wall.Add(24 * time.Hour).In(z))
	for _, offset := range []int{before, after} {
		t := try(offset)
		if wallOf(t).Equal(wall) && (len(at) == 0 || !at[0].Equal(t)) {
			at = append(at, t)
		}
	}
	return at, try(before)
}

// resolveExact is for a clock time that someone wrote: one that the clocks skip is an error.
func resolveExact(wall time.Time, z *time.Location) (time.Time, string, error) {
	at, later := moments(wall, z)
	switch len(at) {
	case 0:
		return time.Time{}, "", fmt.Errorf("%s does not exist in %s, where the clocks are put forward; "+
			"perhaps %s is meant", wall.Format("2006-01-02 15:04"), z, later.Format(time.RFC3339))
	case 2:
		return at[0], fmt.Sprintf("the clocks show this time twice; the first is taken, the second is %s",
			at[1].Format(time.RFC3339)), nil
	}
	return at[0], "", nil
}

// resolveNear is for a computed clock time: near tells which of two to take.
func resolveNear(wall time.Time, z *time.Location, near int) (time.Time, string) {
	at, later := moments(wall, z)
	if len(at) == 0 {
		return later, fmt.Sprintf("%s does not exist in %s, where the clocks are put forward",
			wall.Format("2006-01-02 15:04"), z)
	}
	for _, t := range at {
		if offsetOf(t) == near {
			return t, ""
		}
	}
	return at[0], ""
}

// startOfDay is midnight, or the first moment after it where the clocks skip midnight.
func startOfDay(d day, z *time.Location) time.Time {
	at, later := moments(d.time(), z)
	if len(at) == 0 {
		return later
	}
	return at[0]
}

func momentOf(t time.Time, note string) Moment {
	return Moment{
		DateTime: t.Format(time.RFC3339Nano),
		Date:     t.Format(time.DateOnly),
		Weekday:  t.Weekday().String(),
		Zone:     t.Location().String(),
		Unix:     t.Unix(),
		Note:     note,
	}
}
