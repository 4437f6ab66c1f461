package box

import (
	"errors"
	"io"
	"os"
	"path"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// withoutSuffix takes the suffix of -i from the arguments, which is joined to it.
func withoutSuffix(args []string) (rest []string, suffix string) {
	for i, arg := range args {
		given, short := strings.CutPrefix(arg, "-i")
		given, long := strings.CutPrefix(given, "--in-place=")
		if long || short && strings.Trim(given, "nErsuz") != "" {
			suffix = given
			args = append(append(append([]string{}, args[:i]...), "-i"), args[i+1:]...)
		}
		if arg == "--" {
			break
		}
	}
	return args, suffix
}

// inPlace edits files one by one. With a suffix, what they were is kept in files of that name.
func (e *editing) inPlace(names []string, suffix string) int {
	code := 0
	for _, name := range names {
		var b strings.Builder
		fresh := &editing{proc: e.proc, openInput: e.openInput, step: e.step, ended: e.ended, script: e.script, quiet: e.quiet, rest: []string{name}, open: map[string]io.Writer{}}
		fresh.out = writerFunc(func(p []byte) (int, error) {
			if err := e.keep(2 * len(p)); err != nil {
				return 0, err
			}
			return b.Write(p)
		})
		info, err := e.machine.Files.Stat(e.path(name))
		if err != nil && !errors.Is(err, unknown.ErrFile) {
			code = e.failPath(name, err)
			continue
		}
		if err := fresh.run(); err != nil {
			code = fresh.report(err)
			continue
		}
		text := b.String()
		if e.guess.made && e.guess.hides {
			text = unknown.Line
		}
		mode := os.FileMode(0o644)
		if err == nil {
			mode = info.Mode()
		}
		if suffix != "" {
			if err := e.backUp(name, suffix, mode); err != nil {
				code = e.failPath(name+suffix, err)
				continue
			}
		}
		if err := e.writeFile(e.path(name), strings.NewReader(text), mode); err != nil {
			code = e.failPath(name, err)
		}
		e.drop(2 * b.Len())
	}
	return code
}

// backUp copies a file before it changes. A * in the suffix stands for the file's name, as in GNU sed.
func (e *editing) backUp(name, suffix string, mode os.FileMode) error {
	backup := e.path(name) + suffix
	if strings.Contains(suffix, "*") {
		dir, base := path.Split(e.path(name))
		backup = path.Join(dir, strings.ReplaceAll(suffix, "*", base))
	}
	in, err := e.openInput(name)
	if err != nil {
		return err
	}
	return e.writeFile(backup, in, mode)
}
