package releases

import (
	"fmt"
	"strconv"
	"strings"
)

// Minor is a minor release of Kubernetes: 37 is 1.37.
type Minor int

// The releases that are recorded.
const (
	Oldest Minor = 30
	Newest Minor = 37
)

// patches are the last patch releases that were recorded, from Oldest on.
var patches = [Newest - Oldest + 1]int{14, 14, 13, 13, 4, 4, 3, 2}

// Parse reads a version such as 1.33, v1.33 or v1.33.2, whose patch release does not matter.
func Parse(text string) (Minor, error) {
	parts := strings.Split(strings.TrimPrefix(strings.TrimSpace(text), "v"), ".")
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "1" {
		return 0, fmt.Errorf("version %q must be one of Kubernetes, such as %s", text, Newest)
	}
	for _, part := range parts[1:] {
		if _, err := strconv.ParseUint(part, 10, 16); err != nil {
			return 0, fmt.Errorf("version %q must be one of Kubernetes, such as %s", text, Newest)
		}
	}
	n, _ := strconv.Atoi(parts[1]) // checked above
	if m := Minor(n); m >= Oldest && m <= Newest {
		return m, nil
	}
	return 0, fmt.Errorf("version %s is not among those that can be emulated: %s to %s", text, Oldest, Newest)
}

// String returns the release as in 1.33.
func (m Minor) String() string { return fmt.Sprintf("1.%d", int(m)) }

// Version returns the last patch release that was recorded, as in v1.33.13.
func (m Minor) Version() string { return fmt.Sprintf("v1.%d.%d", int(m), patches[m-Oldest]) }

// All returns the releases, the oldest first.
func All() []Minor {
	all := make([]Minor, 0, len(patches))
	for m := Oldest; m <= Newest; m++ {
		all = append(all, m)
	}
	return all
}

// spans are the releases in which something is, such as "30-33,36-": without an end if it lasts.
type spans [Newest - Oldest + 1]bool

func parseSpans(text string) spans {
	var s spans
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		from, _ := strconv.Atoi(first) // the recording is tested
		to := from
		if ranged {
			if to = int(Newest); last != "" {
				to, _ = strconv.Atoi(last)
			}
		}
		for m := from; m <= to; m++ {
			s[Minor(m)-Oldest] = true
		}
	}
	return s
}
