package report

import (
	"fmt"
	"strings"

	"minikcm.dev/minikcm/internal/reasons"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// unexpected are the objects that were not as expected in the end, a line each. It leaves
// out the parts of others, whose lines have their reasons, and what a failure says already.
func unexpected(run *runrecord.Run) []string {
	var lines []string
	for i := range run.NotAsExpected {
		r := &run.NotAsExpected[i]
		if r.Part || toldByFailure(run, &r.Reasons[0]) {
			continue
		}
		lines = append(lines, r.String())
	}
	if more := len(lines) - maxListed; more > 0 {
		lines = append(lines[:maxListed], fmt.Sprintf("and %d more", more))
	}
	return lines
}

func toldByFailure(run *runrecord.Run, reason *reasons.Reason) bool {
	for i := range run.Failures {
		if message := run.Failures[i].Message; strings.Contains(message, reason.String()) || reason.Message != "" && strings.Contains(message, reason.Message) {
			return true
		}
	}
	return false
}
