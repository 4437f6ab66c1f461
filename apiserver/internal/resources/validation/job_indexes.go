package validation

import (
	"fmt"
	"strconv"
	"strings"
)

// indexInterval is a range of indexes of an Indexed job, both ends included.
type indexInterval struct{ first, last int32 }

// parseIndexes parses the notation of a job's indexes: "1,3-5,7", in ascending order,
// all below completions. For an invalid text it returns the intervals before the error.
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

// countIndexes returns the number of indexes in all intervals.
func countIndexes(intervals []indexInterval) int32 {
	total := int32(0)
	for _, i := range intervals {
		total += i.last - i.first + 1
	}
	return total
}

// commonIndex returns an index that is in both lists, each of which is in ascending
// order.
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
