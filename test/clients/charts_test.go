package clients

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The charts come from a folder, since none is copied into this repository: "make charts
// CHARTS=FOLDER".
var (
	charts       = flag.String("charts", "", "folder of charts to install, each a folder or an archive; see docs/charts.md")
	chartTimeout = flag.Duration("chart-timeout", 90*time.Second, "how long helm install --wait may take")
)

// TestCharts installs each chart with its default values and --wait into a cluster of its own, and prints a table of the
// results. Beside the chart NAME, NAME.before is a chart or has objects to be installed first, NAME.values.yaml has values,
// and NAME.args has further arguments of helm install, one a line.
func TestCharts(t *testing.T) {
	if *charts == "" {
		t.Skip("-charts has no folder")
	}
	entries, err := os.ReadDir(*charts)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".tgz")
		path := filepath.Join(*charts, entry.Name())
		if name == entry.Name() && !exists(filepath.Join(path, "Chart.yaml")) || strings.HasSuffix(name, ".before") {
			continue
		}
		found = true
		t.Run(name, func(t *testing.T) { installChart(t, name, path) })
	}
	if !found {
		t.Fatalf("no charts in %s", *charts)
	}
}

func installChart(t *testing.T, name, path string) {
	c := startCluster(t, "--nodes", "3")
	beside := filepath.Join(*charts, name)
	args := []string{"--namespace", "charts", "--create-namespace", "--wait", "--timeout", chartTimeout.String()}
	if data, err := os.ReadFile(beside + ".args"); err == nil {
		args = append(args, strings.Fields(string(data))...)
	}
	helm := func(name, path string, args ...string) result {
		return c.run("", helmBinary.path(t), append([]string{"install", name, path}, args...)...)
	}
	if before := beside + ".before"; exists(filepath.Join(before, "Chart.yaml")) {
		if r := helm("before", before, args...); r.code != 0 {
			t.Fatalf("installing %s: %s", before, r.err)
		}
	} else if exists(before) {
		c.kubectl("apply", "--server-side", "-f", before)
	}
	if values := beside + ".values.yaml"; exists(values) {
		args = append(args, "--values", values)
	}
	began := time.Now()
	r := helm(name, path, args...)
	took := time.Since(began).Seconds()
	version := chartVersion(c.must("", helmBinary.path(t), "show", "chart", path))
	if r.code == 0 {
		fmt.Printf("| %s | %s | %.0f s | |\n", name, version, took)
		return
	}
	waits := c.notReady()
	fmt.Printf("| %s | %s | **not ready** | %s |\n", name, version, strings.Join(append(slices.Clone(waits), lastLine(r.err)), "; "))
	t.Errorf("%s%s", r.err, strings.Join(waits, "\n"))
}

// chartVersion returns the version of a chart's metadata.
func chartVersion(metadata string) string {
	for line := range strings.Lines(metadata) {
		if version, ok := strings.CutPrefix(line, "version:"); ok {
			return strings.Trim(version, " \"\n")
		}
	}
	return ""
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// notReady describes the pods that are not ready, and the newest warning of each.
func (c *cluster) notReady() []string {
	const columns = `{range .items[*]}{.metadata.name}{"\t"}{.status.phase}{"\t"}{range .status.conditions[?(@.type=="Ready")]}{.status}{end}{"\t"}` +
		`{range .status.initContainerStatuses[*]}{.state.waiting.reason}{end}{range .status.containerStatuses[*]}{.state.waiting.reason}{end}{"\n"}{end}`
	var waits []string
	for line := range strings.Lines(c.kubectl("get", "pods", "-A", "-o", "jsonpath="+columns)) {
		fields := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(fields) < 4 || fields[1] == "Succeeded" || fields[2] == "True" {
			continue
		}
		events := c.kubectl("get", "events", "-A", "--field-selector", "type=Warning,involvedObject.name="+fields[0], "-o", `jsonpath={range .items[*]}{.message}{"\n"}{end}`)
		waits = append(waits, strings.TrimSpace(fields[0]+" "+fields[1]+" "+fields[3]+": "+lastLine(events)))
	}
	return waits
}
