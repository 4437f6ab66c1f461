// Command fuzz runs every fuzz target of a module, one after another, and fails if one of
// them finds an input that its test rejects. The go command keeps such an input in
// testdata/fuzz of the package, where every later test run tries it.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

func main() {
	root := flag.String("root", ".", "the module's root")
	each := flag.Duration("time", 30*time.Second, "how long each target runs")
	run := flag.String("run", "", "run only the targets whose package and name, as ./store:FuzzName, match this pattern")
	list := flag.Bool("list", false, "print the targets and do not run them")
	flag.Parse()
	failed, err := fuzz(*root, *run, *each, *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(2)
	}
	if len(failed) > 0 {
		fmt.Fprintf(os.Stderr, "fuzz: these targets failed; their inputs are in testdata/fuzz, commit them with the repair:\n  %s\n", strings.Join(failed, "\n  "))
		os.Exit(1)
	}
}

// fuzz runs or lists the targets that match pattern, and returns the targets that failed.
func fuzz(root, pattern string, each time.Duration, list bool) (failed []string, err error) {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("reading -run: %w", err)
	}
	targets, err := find(os.DirFS(root))
	if err != nil {
		return nil, fmt.Errorf("finding the fuzz targets of %s: %w", root, err)
	}
	chosen := 0
	for _, t := range targets {
		if !match.MatchString(t.String()) {
			continue
		}
		chosen++
		if list {
			fmt.Println(t)
			continue
		}
		fmt.Println("==", t)
		cmd := exec.Command("go", "test", "-vet=off", "-run=^$", "-fuzz=^"+t.name+"$", "-fuzztime="+each.String(), t.dir)
		cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stdout, os.Stderr
		if cmd.Run() != nil {
			failed = append(failed, t.String())
		}
	}
	if chosen == 0 {
		return nil, fmt.Errorf("no fuzz target of %s matches %q", root, pattern)
	}
	return failed, nil
}
