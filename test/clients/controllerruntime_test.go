package clients

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Whole suites take minutes to build, so they only run when asked for: "make controller-runtime".
var (
	suites        = flag.String("controller-runtime", "", "versions of controller-runtime whose own suites to run, separated by commas, such as v0.25.2,v0.24.1")
	suitePackages = flag.String("controller-runtime-packages", "./pkg/...", "packages of controller-runtime to test, separated by commas")
	upstream      = flag.String("upstream-assets", "", "KUBEBUILDER_ASSETS with upstream's binaries, to run the suites on them, too")
)

// TestControllerRuntime runs the suites of controller-runtime itself, as the module has them, with
// minikcm in the place of envtest's binaries.
func TestControllerRuntime(t *testing.T) {
	if *suites == "" {
		t.Skip("-controller-runtime has no versions")
	}
	for version := range strings.SplitSeq(*suites, ",") {
		t.Run(version, func(t *testing.T) {
			source := sources(t, "sigs.k8s.io/controller-runtime", version)
			ours := runSuites(t, source, assets(t))
			t.Logf("minikcm, %s: %s", version, ours.report())
			if *upstream != "" {
				theirs := runSuites(t, source, *upstream)
				t.Logf("upstream, %s: %s", version, theirs.report())
			}
			if ours.failed > 0 || len(ours.broken) > 0 || ours.passed == 0 {
				t.Errorf("%d specs failed", ours.failed)
			}
		})
	}
}

// sources returns a folder with a writable copy of a module.
func sources(t *testing.T, module, version string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module+"@"+version)
	out, err := cmd.Output()
	var downloaded struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &downloaded); err != nil || jsonErr != nil {
		t.Fatalf("downloading %s@%s: %v %s", module, version, err, downloaded.Error)
	}
	copied := filepath.Join(t.TempDir(), "source")
	if err := os.CopyFS(copied, os.DirFS(downloaded.Dir)); err != nil {
		t.Fatal(err)
	}
	// Modules do not keep the permission to execute.
	err = filepath.WalkDir(copied, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".sh") {
			err = os.Chmod(path, 0o755)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// outcome is the result of the suites of a module's packages.
type outcome struct {
	passed, failed, skipped int
	took                    time.Duration
	// failures are the lines that name failed specs; broken are the packages that failed.
	failures, broken []string
	perPackage       map[string]string
}

func (o *outcome) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d specs passed in %v, %d were skipped", o.passed, o.passed+o.failed, o.took.Round(time.Second), o.skipped)
	packages := make([]string, 0, len(o.perPackage))
	for name := range o.perPackage {
		packages = append(packages, name)
	}
	slices.Sort(packages)
	for _, name := range packages {
		fmt.Fprintf(&b, "\n  %s: %s", name, o.perPackage[name])
	}
	for _, line := range slices.Concat(o.broken, o.failures) {
		fmt.Fprintf(&b, "\n  failed: %s", line)
	}
	return b.String()
}

// specs is the line with which Ginkgo ends a suite.
var specs = regexp.MustCompile(`(\d+) Passed.*\| .*?(\d+) Failed.*\| .*?(\d+) Pending.*\| .*?(\d+) Skipped`)

// runSuites runs the suites of a module, one package at a time, because many of their waits are
// short.
func runSuites(t *testing.T, source, kubebuilderAssets string) *outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	args := append([]string{"test", "-json", "-vet=off", "-count=1", "-p=1"}, strings.Split(*suitePackages, ",")...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "KUBEBUILDER_ASSETS="+kubebuilderAssets, "GOFLAGS=-mod=mod", "CGO_ENABLED=0", "GINKGO_EDITOR_INTEGRATION=true")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	out, err := cmd.Output()
	o, parseErr := readOutcome(out)
	if parseErr != nil {
		t.Fatalf("%v: %v\n%s", err, parseErr, stderr.Bytes())
	}
	o.took = time.Since(began)
	return o
}

// readOutcome reads the output of "go test -json".
func readOutcome(out []byte) (*outcome, error) {
	o := &outcome{perPackage: map[string]string{}}
	scanner := bufio.NewScanner(bytes.NewReader(out))
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var event struct {
			Action, Package, Test, Output string
			Elapsed                       float64
		}
		if err := json.Unmarshal(scanner.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("%q: %w", scanner.Text(), err)
		}
		switch {
		case event.Action == "fail" && event.Test == "":
			o.broken = append(o.broken, cmp.Or(event.Package, "the build"))
		case event.Action != "output":
		case strings.Contains(event.Output, "[FAIL] ") || strings.Contains(event.Output, "[PANICKED!] "):
			if line := strings.TrimSpace(event.Output); !slices.Contains(o.failures, line) {
				o.failures = append(o.failures, line)
			}
		default:
			if m := specs.FindStringSubmatch(event.Output); m != nil {
				o.passed += number(m[1])
				o.failed += number(m[2])
				o.skipped += number(m[3]) + number(m[4])
				o.perPackage[event.Package] = fmt.Sprintf("%s passed, %s failed", m[1], m[2])
			}
		}
	}
	return o, scanner.Err()
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // the pattern has digits only
	return n
}

func TestReadOutcome(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"Action":"output","Package":"a","Test":"TestA","Output":"SUCCESS! -- 12 Passed | 0 Failed | 1 Pending | 2 Skipped\n"}`,
		`{"Action":"output","Package":"b","Test":"TestB","Output":"  [FAIL] client Get [It] finds\n"}`,
		`{"Action":"output","Package":"b","Test":"TestB","Output":"[FAIL] client Get [It] finds\n"}`,
		`{"Action":"output","Package":"b","Test":"TestB","Output":"\u001b[1mFAIL!\u001b[0m -- \u001b[1m3 Passed\u001b[0m | \u001b[1m1 Failed\u001b[0m | \u001b[1m0 Pending\u001b[0m | \u001b[1m0 Skipped\u001b[0m\n"}`,
		`{"Action":"fail","Package":"b","Test":"TestB"}`,
		`{"Action":"fail","Package":"b","Elapsed":1}`,
	}
	o, err := readOutcome([]byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	const want = `15 of 16 specs passed in 0s, 3 were skipped
  a: 12 passed, 0 failed
  b: 3 passed, 1 failed
  failed: b
  failed: [FAIL] client Get [It] finds`
	if got := o.report(); got != want {
		t.Errorf("%s", got)
	}
	if _, err := readOutcome([]byte("go: no such module\n")); err == nil {
		t.Error("a line that is not JSON was read")
	}
}
