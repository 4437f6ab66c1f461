package validation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

func TestParseIndexes(t *testing.T) {
	for _, test := range []struct {
		text string
		want []indexInterval
		err  string
	}{
		{"", nil, ""},
		{"0", []indexInterval{{0, 0}}, ""},
		{"1,3-5,7", []indexInterval{{1, 1}, {3, 5}, {7, 7}}, ""},
		{"1,", nil, `cannot convert string to integer for index: ""`},
		{"1-2-3", nil, `the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'`},
		{"9", nil, `too large index: "9"`},
		{"5-3", nil, "non-increasing order, previous: 5, current: 3"},
		{"3,3", nil, "non-increasing order, previous: 3, current: 3"},
		{"-1", nil, `cannot convert string to integer for index: ""`},
	} {
		got, err := parseIndexes(test.text, 9)
		switch {
		case test.err != "":
			if err == nil || err.Error() != test.err {
				t.Errorf("%q: %v, want %s", test.text, err, test.err)
			}
		case err != nil:
			t.Errorf("%q: %v", test.text, err)
		default:
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(indexInterval{})); diff != "" {
				t.Errorf("%q: %s", test.text, diff)
			}
		}
	}
}

func FuzzParseIndexes(f *testing.F) {
	for _, text := range []string{"", "0", "1,3-5,7", "1-", "999999999999999999999"} {
		f.Add(text, int32(10))
	}
	f.Fuzz(func(t *testing.T, text string, completions int32) {
		intervals, err := parseIndexes(text, completions)
		last := int32(-1)
		for _, i := range intervals {
			if i.first <= last || i.last < i.first || i.last >= completions {
				t.Errorf("%q gives %v (%v)", text, intervals, err)
			}
			last = i.last
		}
	})
}

func TestCommonIndex(t *testing.T) {
	for _, test := range []struct {
		a, b  string
		index int32
		found bool
	}{
		{"0-3", "4-6", 0, false},
		{"0-3,8", "5,8-9", 8, true},
		{"2", "0-4", 2, true},
		{"", "0", 0, false},
	} {
		a, _ := parseIndexes(test.a, 10)
		b, _ := parseIndexes(test.b, 10)
		if index, found := commonIndex(a, b); index != test.index || found != test.found {
			t.Errorf("%s and %s: %d, %v", test.a, test.b, index, found)
		}
	}
}

// TestJobStatus tests invalid statuses and invalid transitions.
func TestJobStatus(t *testing.T) {
	const started = `startTime: "2030-01-01T12:00:00Z", `
	const complete = `conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}], ` + started + `completionTime: "2030-01-01T12:01:00Z"`
	for _, test := range []struct {
		name, old, status string
		want              []string
	}{
		{"running", `{}`, `{` + started + `active: 1, ready: 1}`, nil},
		{"complete", `{` + started + `active: 1}`, `{` + complete + `, succeeded: 1}`, nil},
		{"complete at once", `{}`, `{conditions: [{type: Complete, status: "True"}]}`, []string{
			"status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
			"status.completionTime: Required value: completionTime is required for Complete jobs",
			"status.startTime: Required value: startTime is required for finished job",
		}},
		{"active though complete", `{}`, `{` + complete + `, active: 1, terminating: 2, uncountedTerminatedPods: {failed: [a]}}`, []string{
			"status.active: Invalid value: 1: active>0 is invalid for finished job",
			`status.uncountedTerminatedPods: Invalid value: {"failed":["a"]}: uncountedTerminatedPods needs to be empty for finished job`,
			"status.terminating: Invalid value: 2: terminating>0 is invalid for finished job",
		}},
		{"counters fall", `{` + started + `succeeded: 2, failed: 2}`, `{` + started + `succeeded: 1, failed: 1}`, []string{
			"status.failed: Invalid value: 1: cannot decrease the failed counter",
			"status.succeeded: Invalid value: 1: cannot decrease the succeeded counter",
		}},
		{"no longer failed", `{` + started + `conditions: [{type: FailureTarget, status: "True"}, {type: Failed, status: "True"}]}`, `{` + started + `}`, []string{
			"status.conditions: Invalid value: cannot disable the terminal Failed=True condition",
			"status.conditions: Invalid value: cannot disable the terminal FailureTarget=True condition",
		}},
		{"counted twice", `{}`, `{uncountedTerminatedPods: {succeeded: [a], failed: [a]}}`, []string{`status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"`}},
		{"indexes of a job without", `{}`, `{completedIndexes: "0", failedIndexes: "1"}`, []string{
			`status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode`,
			`status.failedIndexes: Invalid value: "1": cannot set non-null failedIndexes when backoffLimitPerIndex is null`,
			`status.completedIndexes: Invalid value: "0": error parsing completedIndexes: too large index: "0"`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			job, old := jobOf(t, test.status), jobOf(t, test.old)
			want := append([]string{}, test.want...)
			if diff := cmp.Diff(want, texts(JobStatus(job, old))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func jobOf(t *testing.T, status string) *batchv1.Job {
	t.Helper()
	job := &batchv1.Job{Spec: batchv1.JobSpec{Completions: new(int32)}}
	if err := yaml.UnmarshalStrict([]byte(status), &job.Status); err != nil {
		t.Fatal(err)
	}
	return job
}

// texts returns the errors' first lines: those after them are a diff, whose format is not
// stable.
func texts(errs field.ErrorList) []string {
	all := []string{}
	for _, err := range errs {
		first, _, _ := strings.Cut(err.Error(), "\n")
		all = append(all, first)
	}
	return all
}
