package resources

import (
	"fmt"
	"strconv"
	"strings"
)

// indexInterval is the indexes of an Indexed job from first to last.
type indexInterval struct{ first, last int32 }

// parseIndexes reads the form in which a job's indexes are written: "1,3-5,7",
// in rising order, all beneath completions. Of a text that is wrong it returns
// what came before.
func parseIndexes(text string, completions int32) (intervals []indexInterval, err error) {
	if text == "" {
		return nil, nil
	}
	last := int32(-1)
	for part := range strings.SplitSeq(text, ",") {
		interval, err := parseIndexInterval(part, completions)
		if err != nil {
			return intervals, err
		}
		if interval.first <= last {
			return intervals, fmt.Errorf("non-increasing order, previous: %d, current: %d", last, interval.first)
		}
		last = interval.last
		intervals = append(intervals, interval)
	}
	return intervals, nil
}

func parseIndexInterval(part string, completions int32) (indexInterval, error) {
	limits := strings.Split(part, "-")
	if len(limits) > 2 {
		return indexInterval{}, fmt.Errorf("the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", part)
	}
	first, err := parseIndex(limits[0], completions)
	if err != nil || len(limits) == 1 {
		return indexInterval{first, first}, err
	}
	last, err := parseIndex(limits[1], completions)
	if err != nil {
		return indexInterval{}, err
	}
	if first >= last {
		return indexInterval{}, fmt.Errorf("non-increasing order, previous: %d, current: %d", first, last)
	}
	return indexInterval{first, last}, nil
}

func parseIndex(text string, completions int32) (int32, error) {
	index, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("cannot convert string to integer for index: %q", text)
	}
	if index >= int(completions) {
		return 0, fmt.Errorf("too large index: %q", text)
	}
	return int32(index), nil // less than an int32
}

// countIndexes is how many indexes there are in all intervals.
func countIndexes(intervals []indexInterval) int32 {
	total := int32(0)
	for _, i := range intervals {
		total += i.last - i.first + 1
	}
	return total
}

// commonIndex finds an index that is in both, each in rising order.
func commonIndex(a, b []indexInterval) (index int32, found bool) {
	for len(a) > 0 && len(b) > 0 {
		if first := max(a[0].first, b[0].first); first <= min(a[0].last, b[0].last) {
			return first, true
		}
		if a[0].last < b[0].last {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return 0, false
}
