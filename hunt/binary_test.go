package hunt_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/hunt"
)

// programOf is the hunt of an operator that the test's program runs as.
func programOf(t *testing.T, name string, trials int) hunt.Binary {
	t.Helper()
	return hunt.Binary{
		Command: operatorCommand(t, name), Scenario: "testdata/shops.yaml",
		Seed: 1, Trials: trials, Parallel: 2, Repeats: 1, Budget: 5 * time.Minute, Speed: 10,
	}
}

// operatorCommand runs an operator as a program.
func operatorCommand(t *testing.T, name string) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"env", operatorVariable + "=" + name, exe}
}

// A program is killed at its writes, and what it leaves behind is found, and comes back.
func TestBinary(t *testing.T) {
	t.Parallel()
	report, err := hunt.HuntBinary(t.Context(), programOf(t, "edged", 6))
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) == 0 {
		t.Fatalf("there is no finding in %d runs: %v", report.Tried, report.Unrepeated)
	}
	found := report.Findings[0]
	if want := "Secret default/till-of-corner exists, undisturbed it does not"; !strings.Contains(found.Story, want) || found.CameBack == 0 || found.Run == nil {
		t.Errorf("it came back %d times, want it once, and %q in\n%s", found.CameBack, want, found.Story)
	}
}

// The runs of a finding are made again, without the others.
func TestBinaryReplay(t *testing.T) {
	t.Parallel()
	b := programOf(t, "edged", 1)
	b.Replay, b.Repeats = []string{"crash before delete secrets default/till-of-corner"}, 2
	report, err := hunt.HuntBinary(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if report.Tried != 2 || len(report.Findings) != 1 || report.Findings[0].CameBack == 0 || report.Findings[0].Disturbances[0] != b.Replay[0] {
		t.Errorf("%d runs, findings %+v", report.Tried, report.Findings)
	}
}

// A sound program has no finding.
func TestBinarySound(t *testing.T) {
	t.Parallel()
	report, err := hunt.HuntBinary(t.Context(), programOf(t, "sound", 2))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range report.Findings {
		t.Error(found.Story)
	}
}

// A program that cannot be hunted is named, with its last lines.
func TestBinaryMistakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command []string
		want    string
	}{
		"is not there":  {[]string{"./no-such-operator"}, "starting the operator"},
		"ends at once":  {[]string{"sh", "-c", "echo no configuration; exit 3"}, "ended before its first request (exit status 3). Its last lines:\n    no configuration"},
		"asks nothing":  {[]string{"sh", "-c", "echo using another cluster; exec sleep 600"}, "made no request within 30s: does it use the cluster of KUBECONFIG? Its last lines:\n    using another cluster"},
		"never rests":   {operatorCommand(t, "restless"), "does not come to rest: it writes after 2m30s, too."},
		"ends silently": {[]string{"true"}, "ended before its first request (exit status 0). It printed nothing."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := programOf(t, "sound", 1)
			b.Command = test.command
			if _, err := hunt.HuntBinary(t.Context(), b); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}
