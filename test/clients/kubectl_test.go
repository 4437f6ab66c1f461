package clients

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what kubectl prints into the transcripts")

// TestKubectl runs the commands in testdata/kubectl/*.txt, each file on its own cluster, and
// compares their output. Lines that begin with "$ " are shell commands, lines that begin with
// "## " are comments, and the others are the expected output.
func TestKubectl(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/kubectl/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			transcript(t, file)
		})
	}
}

func transcript(t *testing.T, file string) {
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := startCluster(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/kubectl/files")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kubectlBinary.path(t), filepath.Join(dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, line := range strings.Split(strings.TrimSuffix(string(want), "\n"), "\n") {
		if strings.HasPrefix(line, "## ") {
			got.WriteString(line + "\n")
		}
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		got.WriteString(line + "\n")
		r := c.run("", "sh", "-c", "cd "+dir+" && PATH=$PWD:$PATH && exec 2>&1 && "+command)
		if r.out != "" {
			got.WriteString(strings.TrimSuffix(normal(r.out, dir), "\n") + "\n")
		}
		if r.code != 0 {
			got.WriteString("[exit code " + strconv.Itoa(r.code) + "]\n")
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got, -update to accept):\n%s", file, diff)
	}
}

// changing lists patterns of output that differs from run to run, with their replacements.
// Columns keep their order, but not their width.
var changing = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[ \t]+\n`), "\n"},
	{regexp.MustCompile(`(\S)[ \t]{2,}(\S)`), "$1  $2"},
	{regexp.MustCompile(`-{3,}`), "---"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( \+0000|Z)`), "TIME"},
	{regexp.MustCompile(`[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`-[bcdf-hj-np-tv-xz24-9]{5,10}(-[bcdf-hj-np-tv-xz24-9]{5})?\b`), "-RANDOM"},
	{regexp.MustCompile(`\b10\.\d+\.\d+\.\d+\b`), "IP"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "SERVER"},
	{regexp.MustCompile(`:3[0-2]\d{3}\b`), ":NODEPORT"},
	{regexp.MustCompile(`  3[0-2]\d{3}/TCP`), "  NODEPORT/TCP"},
	{regexp.MustCompile(`(resourceVersion"?: ?)"\d+"`), "${1}REVISION"},
	{regexp.MustCompile(`(Resource Version:  )\d+`), "${1}REVISION"},
	{regexp.MustCompile(`\b198\.1[89]\.\d+\.\d+\b`), "IP"},
	{regexp.MustCompile(`\b[0-9a-f]{32,64}\b`), "HASH"},
	{regexp.MustCompile(`(/tmp/|kubectl-edit-|LIVE-|MERGED-)[A-Za-z0-9.-]*\d{5,}`), "${1}N"},
	{regexp.MustCompile(`\b(\d+m)?\d+s\b`), "AGE"},
	{regexp.MustCompile(`(?m)^[EIW]\d{4} \S+ +\d+ `), ""},
}

func normal(text, dir string) string {
	text = strings.ReplaceAll(text, dir+"/", "")
	for _, c := range changing {
		// Each match of a column shares a character with the next match.
		text = c.pattern.ReplaceAllString(c.pattern.ReplaceAllString(text, c.by), c.by)
	}
	return text
}
