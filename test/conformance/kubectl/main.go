package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

func main() {
	minikcm := flag.String("minikcm", "../../bin/minikcm", "the binary minikcm")
	out := flag.String("out", "../../_artifacts/kubectl", "folder for the log and the copy of the scripts")
	passing := flag.String("passing", "kubectl/passing.txt", "the list of groups that have to pass")
	port := flag.Int("port", 16443, "port of the cluster")
	update := flag.Bool("update", false, "write the list")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *minikcm, *out, *passing, *port, *update, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubectl:", err)
		os.Exit(1)
	}
}

// run runs groups of the suite, or all, and compares the passing ones with the list.
func run(ctx context.Context, minikcm, out, passing string, port int, update bool, groups []string) error {
	minikcm, err := filepath.Abs(minikcm)
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o700); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(out, "log.txt"))
	if err != nil {
		return err
	}
	s := &suite{root: filepath.Join(out, "kubernetes"), minikcm: minikcm, port: port, groups: groups, log: log}
	runErr := s.prepare(ctx)
	if runErr == nil {
		runErr = s.run(ctx)
	}
	if err := errors.Join(runErr, log.Close()); err != nil {
		return fmt.Errorf("%w; the log is in %s", err, log.Name())
	}
	file, err := os.Open(log.Name())
	if err != nil {
		return err
	}
	defer file.Close() // it is only read
	passed, failed, err := results(file)
	if err != nil {
		return err
	}
	fmt.Printf("passed: %d; failed: %d: %s; log: %s\n", len(passed), len(failed), strings.Join(failed, " "), log.Name())
	if update {
		slices.Sort(passed)
		return os.WriteFile(passing, []byte(strings.Join(passed, "\n")+"\n"), 0o644)
	}
	return compare(passing, groups, passed)
}

// compare returns an error that names the groups of the list that ran and did not pass.
func compare(passing string, groups, passed []string) error {
	list, err := os.ReadFile(passing)
	if err != nil {
		return fmt.Errorf("reading the list: %w", err)
	}
	var lost []string
	for _, group := range strings.Fields(string(list)) {
		if (len(groups) == 0 || slices.Contains(groups, group)) && !slices.Contains(passed, group) {
			lost = append(lost, group)
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("groups of the list that did not pass: %s", strings.Join(lost, " "))
	}
	return nil
}

var (
	began = regexp.MustCompile(`^Recording: run_(\w+)_tests$`)
	ended = regexp.MustCompile(`\+\+\+ exit code: (\d+)$`) // after codes of colours
)

// maxLine is the longest line of the log, in bytes.
const maxLine = 1 << 20

// results reads the log of the scripts. A group that has not ended has failed.
func results(log io.Reader) (passed, failed []string, err error) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, maxLine)
	running := ""
	end := func(ok bool) {
		switch {
		case running == "":
		case ok:
			passed = append(passed, running)
		default:
			failed = append(failed, running)
		}
		running = ""
	}
	for lines.Scan() {
		if m := began.FindStringSubmatch(lines.Text()); m != nil {
			end(false)
			running = m[1]
		}
		if m := ended.FindStringSubmatch(lines.Text()); m != nil {
			end(m[1] == "0")
		}
	}
	end(false)
	return passed, failed, lines.Err()
}
