package spell

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// maxNames caps the compared names, because their lists come from outside.
	maxNames  = 5000
	minPrefix = 3
)

// Nearest returns the known name that is most similar to written; "" if none is similar.
func Nearest(written string, known []string) string {
	if near := NearestN(written, known, 1); len(near) > 0 {
		return near[0]
	}
	return ""
}

// NearestN returns at most n known names that are similar to written, the most similar
// first. It ignores case. Names that begin with written come before others, the shortest
// first, if it has at least minPrefix characters, because the name of a pod begins with the
// name of its Deployment.
func NearestN(written string, known []string, n int) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	most := len(written) / 2
	lower := strings.ToLower(written)
	for _, name := range known[:min(len(known), maxNames)] {
		other := strings.ToLower(name)
		switch {
		case len(lower) >= minPrefix && strings.HasPrefix(other, lower):
			found = append(found, candidate{name, 0})
		case len(other)-len(lower) > most || len(lower)-len(other) > most:
		default:
			if d := distance(lower, other); d <= most {
				found = append(found, candidate{name, 1 + d})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		if a.distance == 0 && b.distance == 0 {
			return cmp.Compare(len(a.name), len(b.name))
		}
		return cmp.Compare(a.distance, b.distance)
	})
	var names []string
	for _, c := range found[:min(len(found), n)] {
		names = append(names, c.name)
	}
	return names
}

// distance returns the optimal string alignment distance: the number of characters to
// insert, delete, substitute or transpose with their neighbor to turn a into b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
