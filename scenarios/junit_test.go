package scenarios

import (
	"strings"
	"testing"

	"minikcm.dev/minikcm/internal/scenario/report"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

// A failure is one failed test case, also where it ended another step.
func TestJUnitHasOneCaseForAFailure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ spec, failed, skipped string }{
		"invariant": {`  invariants: [{name: no pods, always: {counts: [{target: pods, equals: 0}]}}]
  steps:
    - {name: make a pod, create: {objects: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}]}}
    - {name: rest, sleep: 1m}`, "invariant no pods", "rest"},
		"background": {`  steps:
    - {name: behind, background: true, wait: {target: pod/a, for: create, within: 5s}}
    - {name: before, sleep: 1m}`, "behind", "before"},
		"step": {`  steps:
    - {name: the one, wait: {target: pod/a, for: create, within: 5s}}`, "the one", ""},
		"timeout": {`  timeout: 5s
  steps:
    - {name: the one, wait: {target: pod/a, for: create}}`, "the one", ""},
		"within parallel": {`  steps:
    - {name: both, parallel: [{sleep: 1m}, {wait: {target: pod/a, for: create, within: 5s}}]}`, "both", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, _ := runScenario(t, header+test.spec, Options{})
			var out strings.Builder
			if err := report.JUnit(&out, []*runrecord.Run{result.Run}); err != nil {
				t.Fatal(err)
			}
			failed, skipped := "", ""
			for text := range strings.SplitSeq(out.String(), "<testcase ") {
				_, title, _ := strings.Cut(text, `name="`)
				title, _, _ = strings.Cut(title, `"`)
				_, title, _ = strings.Cut(title, ". ")
				if strings.Contains(text, "<failure") {
					failed += title
				}
				if strings.Contains(text, "<skipped") {
					skipped += title
				}
			}
			if failed != test.failed || skipped != test.skipped || !strings.Contains(out.String(), `failures="1"`) {
				t.Errorf("failed: %q, want %q; skipped: %q, want %q\n%s", failed, test.failed, skipped, test.skipped, &out)
			}
		})
	}
}
