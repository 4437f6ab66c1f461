package hunt

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/hunt"
)

const (
	controllers = "project/internal/controller"
	// orphaning is the project's controller with a bug: a crash between two of its writes leaves a Secret behind.
	orphaning = "testdata/site_controller.go"
	// promising is the project's controller with another bug: it notes the Secret's name before the Secret exists, and does not look again.
	promising = "testdata/promising/site_controller.go"
)

// overlay writes a file for go build that has other files in place of some of the controller's, or beside them.
func overlay(t *testing.T, instead map[string]string) string {
	t.Helper()
	replace := map[string]string{}
	for name, file := range instead {
		replace[absolute(t, filepath.Join(controllers, name))] = absolute(t, file)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// built builds the tests of the project's controller with an overlay.
func built(t *testing.T, instead map[string]string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "controller.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay(t, instead), "-o", program, "./"+controllers)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the tests: %v\n%s", err, out)
	}
	return program
}

func absolute(t *testing.T, file string) string {
	t.Helper()
	abs, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// ran runs tests of a program in a copy of the project, and returns what they print and whether they pass.
func ran(t *testing.T, program, project, tests string) (out string, passed bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.run", tests)
	cmd.Dir = filepath.Join(project, "internal/controller")
	text, err := cmd.CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return string(text), err == nil
}

// The hunt in the project's tests finds an orphan that a crash between two writes leaves, explains it, and writes a test that fails
// before the repair and passes after it. In the repaired project, it finds nothing.
func TestProject(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	if err := os.CopyFS(project, os.DirFS("project")); err != nil {
		t.Fatal(err)
	}
	const written = `sitehunt_crash_atomicity_\w+_test\.go`
	elapsed := clock.Stopwatch()
	out, passed := ran(t, built(t, map[string]string{"site_controller.go": orphaning}), project, "TestSite")
	t.Logf("the hunt, with its build, took %v", elapsed())
	for _, want := range []string{
		"crash atomicity\n", "crash after create secrets default/home-*\n", "Secret default/home-*2 exists, undisturbed it does not",
		`These steps of the workload are enough: "create site/home"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report has no %q", want)
		}
	}
	file := regexp.MustCompile(written).FindString(out)
	if passed || file == "" || t.Failed() {
		t.Fatalf("the hunt ends with\n%s", out)
	}
	tests := map[string]string{file: filepath.Join(project, "internal/controller", file)}
	if out, passed = ran(t, built(t, tests), project, "."); !passed || strings.Count(out, "--- PASS: TestSite") != 2 {
		t.Errorf("the repaired project ends with\n%s", out)
	}
	tests["site_controller.go"] = orphaning
	if out, passed = ran(t, built(t, tests), project, "TestSiteHunt"); passed || !strings.Contains(out, "--- FAIL: TestSiteHuntCrashAtomicity") {
		t.Errorf("before the repair, the test ends with\n%s", out)
	}
}

// programOf returns a hunt of the project's program, with other files in place of some of its controller's. Its definition is among the
// scenario's objects.
func programOf(t *testing.T, instead map[string]string) hunt.Binary {
	t.Helper()
	program := filepath.Join(t.TempDir(), "manager")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-overlay", overlay(t, instead), "-o", program, "./project/cmd").CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	return hunt.Binary{Command: []string{program}, Scenario: "testdata/site.yaml", Seed: 1, Trials: 4, Parallel: 2, Repeats: 1, Budget: 5 * time.Minute, Speed: 10}
}

// A program with a bug of its custom resource is found out: it promises a Secret in the status before it creates it. (The bug of
// TestProject is no test: the program of the machine's clock then creates a second Secret by chance, also undisturbed.)
func TestPromisingProgram(t *testing.T) {
	t.Parallel()
	b := programOf(t, map[string]string{"site_controller.go": promising})
	b.Scenario = "testdata/open.yaml"
	b.Replay, b.Repeats = []string{"crash before create secrets default/home-credentials"}, 2
	report, err := hunt.HuntBinary(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) == 0 {
		t.Fatalf("there is no finding: %+v", report)
	}
	f := report.Findings[0]
	if f.Class != "crash atomicity" || f.CameBack == 0 || !strings.Contains(f.Story, "home-credentials") {
		t.Errorf("the class is %s, it came back %d times:\n%s", f.Class, f.CameBack, f.Story)
	}
}

// The project's program has no bug.
func TestProgram(t *testing.T) {
	t.Parallel()
	report, err := hunt.HuntBinary(t.Context(), programOf(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if report.Points < 3 || report.Tried != 4 || len(report.Findings) > 0 {
		t.Errorf("%d writes, %d runs, the findings are %+v", report.Points, report.Tried, report.Findings)
	}
}
