package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"minikcm.dev/minikcm/internal/golden"
)

// withoutControllers leaves out which controllers there are: that is no matter of this package.
func withoutControllers(text string) string {
	return regexp.MustCompile("the controllers are .*").ReplaceAllString(text, "the controllers are ...")
}

// Every kind of bad input gets an error that says where it is and what to do.
func TestBadScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	var out strings.Builder
	for _, file := range files {
		found, err := Load(file, nil)
		if err == nil {
			t.Errorf("%s: %d scenarios, and no error", file, len(found))
			continue
		}
		text := withoutControllers(err.Error())
		if !strings.HasPrefix(text, "testdata/") {
			t.Errorf("the error does not begin with the name of %s: %v", file, err)
		}
		text = strings.ReplaceAll(text, file, "")
		fmt.Fprintf(&out, "%s\n  %s\n", strings.TrimSuffix(filepath.Base(file), ".yaml"), strings.ReplaceAll(text, "\n", "\n  "))
	}
	golden.Compare(t, "testdata/bad.golden", out.String())
}

func TestGoodScenarios(t *testing.T) {
	found, err := Load("testdata/good/everything.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, s := range found {
		fmt.Fprintf(&out, "%s: %s\n  timeout %s, %d nodes, clock %q, seed %d, controllers %q\n", s.Metadata.Name, s.Spec.Description,
			time.Duration(s.Spec.Timeout), *s.Spec.Cluster.Nodes, s.Spec.Cluster.Clock, s.Spec.Cluster.Seed, s.Spec.Cluster.Controllers)
		for i := range s.Spec.Steps {
			fmt.Fprintf(&out, "  line %d: %s\n", s.Spec.Steps[i].Line, s.Spec.Steps[i].Title())
		}
	}
	for _, o := range found[0].Spec.Steps[0].Value.(*Apply).All() {
		data, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(&out, string(data))
	}
	golden.Compare(t, "testdata/good.golden", out.String())
}

func TestLoadMissing(t *testing.T) {
	if _, err := Load("testdata/nowhere.yaml", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestFind(t *testing.T) {
	if found, err := Find("pod-kill", nil); err != nil || len(found) != 1 || found[0].Metadata.Name != "pod-kill" {
		t.Errorf("by name: %v, %v", found, err)
	}
	if found, err := Find("./testdata/good/everything.yaml", nil); err != nil || len(found) != 2 {
		t.Errorf("by path: %v, %v", found, err)
	}
	for name, want := range map[string]string{
		"pod-kil":  `there is no scenario "pod-kil"; did you mean pod-kill? A file is named by its path, such as ./pod-kil.yaml`,
		"testdata": "there is no scenario in testdata",
		"doc":      `there is no scenario "doc"; shipped are ` + strings.Join(Names(), ", ") + `, and a file is named by its path, such as ./doc.yaml`,
	} {
		if _, err := Find(name, nil); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A folder's scenarios are found among the manifests that they apply, and a manifest's
// folder may hold the scenario; all problems are reported at once.
func TestFindInFolder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	scenario := "apiVersion: minikcm.dev/v1alpha1\nkind: Scenario\nmetadata: {name: %s}\nspec:\n  steps: [{%s: {files: [.]}}]\n"
	write("apply.yaml", fmt.Sprintf(scenario, "all", "apply"))
	write("cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n")
	write("values.json", `{"replicas": 3, "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}`)
	write("steps.yaml", "apiVersion: minikcm.dev/v1alpha1\nkind: Steps\nspec: {steps: [{sleep: 1s}]}\n")
	found, err := Find(dir, nil)
	if err != nil || len(found) != 1 || len(found[0].Spec.Steps[0].Value.(*Apply).All()) != 3 {
		t.Fatalf("found %v: %v", found, err)
	}
	write("sleep.yaml", "apiVersion: minikcm.dev/v1alpha1\nkind: Scenario\nmetadata: {name: sleep}\nspec: {steps: [{sleep: long}]}\n")
	write("wait.yml", "kind: Scenario\nspec: {steps: [{wait: long}]}\n")
	_, err = Find(dir, nil)
	if err == nil || !strings.Contains(err.Error(), "sleep.yaml:4") || !strings.Contains(err.Error(), "wait.yml:2") {
		t.Errorf("got %v", err)
	}
}

// Whatever the file holds, it is read or refused, and what is refused gets an error
// with its name.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"library/*.yaml", "testdata/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.ContainsAny(data, "/\\") {
			t.Skip("other files are not read here")
		}
		found, err := Parse("file.yaml", data, nil)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "file.yaml") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		for _, s := range found {
			if _, err := clusterOptions(&s.Spec.Cluster); err != nil {
				t.Errorf("what was checked cannot be run: %v", err)
			}
			for i := range s.Spec.Steps {
				step := &s.Spec.Steps[i]
				_ = step.Title()
				for _, o := range kindOf(step).objects(step.Value) {
					_ = o.DeepCopy()
				}
			}
		}
	})
}
