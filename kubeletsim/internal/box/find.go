package box

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// finding is one call of find.
type finding struct {
	*proc
	// start runs a program, and ended returns the error with which the command ends.
	start               func(args []string) int
	ended               func() error
	deepest, shallowest int
	depthFirst          bool
	// acts reports that there is an action, so that nothing is printed otherwise.
	acts bool
	// batch are the files of -exec ... {} +, by its command.
	batches []*findBatch
	args    []string
	nested  int
}

type findBatch struct{ command, files []string }

// foundFile is a file that find looks at.
type foundFile struct {
	name  string
	root  string
	info  fs.FileInfo
	depth int
	// pruned means that find does not go into the directory.
	pruned bool
}

// findTest is a part of find's expression.
type findTest func(f *foundFile) (bool, error)

// errFind is an error in find's arguments, which has been reported.
var errFind = errors.New("a wrong argument")

func find(ctx context.Context, p *proc) int {
	f := &finding{proc: p, start: func(args []string) int { return p.run(ctx, args, p.env) }, ended: ctx.Err, deepest: 1 << 30, args: p.args[1:]}
	for len(f.args) > 0 && (f.args[0] == "-L" || f.args[0] == "-H" || f.args[0] == "-P") {
		f.args = f.args[1:]
	}
	var roots []string
	for len(f.args) > 0 && !strings.HasPrefix(f.args[0], "-") && f.args[0] != "(" && f.args[0] != "!" {
		roots, f.args = append(roots, f.args[0]), f.args[1:]
	}
	if len(roots) == 0 {
		roots = []string{"."}
	}
	test, err := f.either()
	if err == nil && len(f.args) > 0 {
		p.fail("unexpected: %s", f.args[0])
		err = errFind
	}
	if err != nil {
		return 1
	}
	code := 0
	for _, root := range roots {
		if err := f.look(root, root, 0, test); err != nil {
			code = p.failPath(root, err)
		}
	}
	for _, b := range f.batches {
		if len(b.files) > 0 && !unknown.Holds(f.start(append(b.command, b.files...))) {
			code = 1
		}
	}
	return code
}

// look evaluates the expression for a file and all beneath it.
func (f *finding) look(name, root string, depth int, test findTest) error {
	info, err := f.machine.Files.Lstat(f.path(name))
	if err != nil {
		return err
	}
	at := &foundFile{name: name, root: root, info: info, depth: depth}
	visit := func() error {
		if depth < f.shallowest {
			return nil
		}
		holds, err := test(at)
		if err == nil && holds && !f.acts {
			f.print("%s\n", name)
		}
		return err
	}
	if !f.depthFirst {
		if err := visit(); err != nil {
			return err
		}
	}
	if info.IsDir() && !at.pruned && depth < f.deepest {
		entries, err := f.machine.Files.ReadDir(f.path(name))
		if err != nil {
			return err
		}
		for _, entry := range entries {
			inner := strings.TrimSuffix(name, "/") + "/" + entry.Name()
			if err := f.look(inner, root, depth+1, test); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if f.machine.Files.Partial(f.path(name)) {
			f.print(unknown.Line)
		}
	}
	if f.depthFirst {
		return visit()
	}
	return nil
}

// maxFindDepth bounds how deep an expression nests.
const maxFindDepth = 100

func (f *finding) either() (findTest, error) {
	if f.nested++; f.nested > maxFindDepth {
		f.fail("the expression is nested too deeply")
		return nil, errFind
	}
	defer func() { f.nested-- }()
	left, err := f.both()
	for err == nil && len(f.args) > 0 && (f.args[0] == "-o" || f.args[0] == "-or") {
		f.args = f.args[1:]
		var right findTest
		right, err = f.both()
		first := left
		left = func(at *foundFile) (bool, error) {
			if holds, err := first(at); holds || err != nil {
				return holds, err
			}
			return right(at)
		}
	}
	return left, err
}

func (f *finding) both() (findTest, error) {
	all := func(*foundFile) (bool, error) { return true, nil }
	for len(f.args) > 0 && f.args[0] != "-o" && f.args[0] != "-or" && f.args[0] != ")" {
		if f.args[0] == "-a" || f.args[0] == "-and" {
			f.args = f.args[1:]
			continue
		}
		next, err := f.one()
		if err != nil {
			return nil, err
		}
		first := all
		all = func(at *foundFile) (bool, error) {
			if holds, err := first(at); !holds || err != nil {
				return false, err
			}
			return next(at)
		}
	}
	return all, nil
}

func (f *finding) next() (string, error) {
	if len(f.args) == 0 {
		f.fail("an argument is missing")
		return "", errFind
	}
	arg := f.args[0]
	f.args = f.args[1:]
	return arg, nil
}

func (f *finding) one() (findTest, error) {
	arg, _ := f.next() // there is one
	switch arg {
	case "!", "-not":
		if len(f.args) == 0 {
			_, err := f.next()
			return nil, err
		}
		if f.nested++; f.nested > maxFindDepth {
			return nil, errFind
		}
		defer func() { f.nested-- }()
		test, err := f.one()
		return func(at *foundFile) (bool, error) {
			holds, err := test(at)
			return !holds, err
		}, err
	case "(":
		test, err := f.either()
		if err == nil && (len(f.args) == 0 || f.args[0] != ")") {
			f.fail("missing )")
			err = errFind
		}
		if err == nil {
			f.args = f.args[1:]
		}
		return test, err
	case "-print", "-print0", "-delete", "-prune", "-exec", "-execdir", "-quit", "-ls":
		return f.action(arg)
	case "-true", "-xdev", "-mount", "-noleaf", "-follow", "-depth", "-d":
		f.depthFirst = f.depthFirst || arg == "-depth" || arg == "-d"
		return func(*foundFile) (bool, error) { return true, nil }, nil
	case "-empty":
		return func(at *foundFile) (bool, error) {
			if at.info.IsDir() {
				entries, err := f.machine.Files.ReadDir(f.path(at.name))
				return len(entries) == 0, err
			}
			return at.info.Mode().IsRegular() && at.info.Size() == 0, nil
		}, nil
	}
	return f.valued(arg)
}

// valued is a test with a value.
func (f *finding) valued(arg string) (findTest, error) {
	value, err := f.next()
	if err != nil {
		return nil, err
	}
	always := func(*foundFile) (bool, error) { return true, nil }
	switch arg {
	case "-name", "-iname", "-path", "-ipath", "-wholename", "-lname":
		return f.named(arg, value), nil
	case "-regex", "-iregex":
		flags := map[byte]string{'x': ""}
		if arg == "-iregex" {
			flags['i'] = ""
		}
		match, err := compilePattern(value, flags, false)
		if err != nil {
			f.fail("bad regex '%s'", value)
			return nil, errFind
		}
		return func(at *foundFile) (bool, error) { return match.MatchString(at.name), nil }, nil
	case "-printf":
		return f.printed(value)
	case "-regextype":
		return always, nil
	case "-type":
		return func(at *foundFile) (bool, error) { return strings.Contains(value, kindLetter(at.info.Mode())), nil }, nil
	case "-maxdepth":
		f.deepest = int(leadingNumber(value))
		return always, nil
	case "-mindepth":
		f.shallowest = int(leadingNumber(value))
		return always, nil
	case "-mtime", "-mmin", "-ctime", "-cmin", "-atime", "-amin":
		unit := 24 * time.Hour
		if strings.HasSuffix(arg, "min") {
			unit = time.Minute
		}
		now := f.machine.Clock.Now()
		return func(at *foundFile) (bool, error) {
			return numberFits(int64(now.Sub(at.info.ModTime())/unit), value), nil
		}, nil
	case "-newer":
		info, err := f.machine.Files.Stat(f.path(value))
		if err != nil {
			f.failPath(value, err)
			return nil, errFind
		}
		return func(at *foundFile) (bool, error) { return at.info.ModTime().After(info.ModTime()), nil }, nil
	case "-size":
		return sized(value), nil
	case "-perm":
		want, ok := newMode(0, strings.TrimLeft(value, "-/+"))
		return func(at *foundFile) (bool, error) {
			got := at.info.Mode().Perm()
			switch value[0] {
			case '-':
				return ok && got&want == want, nil
			case '/', '+':
				return ok && got&want != 0, nil
			}
			return ok && got == want, nil
		}, nil
	case "-user", "-group", "-uid", "-gid": // all belongs to root
		return func(*foundFile) (bool, error) { return value == "root" || value == "0", nil }, nil
	}
	f.unsupported(arg)
	return nil, errFind
}

// named matches names or paths.
func (f *finding) named(arg, pattern string) findTest {
	fold := strings.HasPrefix(arg, "-i")
	if fold {
		pattern = strings.ToLower(pattern)
	}
	match := func(text string) (bool, error) {
		matched, err := path.Match(pattern, text)
		return matched && err == nil, nil // a bad pattern matches nothing
	}
	if strings.HasSuffix(arg, "path") || arg == "-wholename" { // there, * matches slashes, too
		quoted := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
		re, err := regexp.Compile("^" + quoted + "$")
		match = func(text string) (bool, error) { return err == nil && re.MatchString(text), nil }
	}
	return func(at *foundFile) (bool, error) {
		text := path.Base(at.name)
		switch {
		case arg == "-lname":
			text, _ = f.machine.Files.Readlink(f.path(at.name))
		case arg != "-name" && arg != "-iname":
			text = at.name
		}
		if fold {
			text = strings.ToLower(text)
		}
		return match(text)
	}
}

// numberFits compares a number with +N (more), -N (less) or N.
func numberFits(n int64, want string) bool {
	limit, err := strconv.ParseInt(strings.TrimLeft(want, "+-"), 10, 64)
	switch {
	case err != nil:
		return false
	case strings.HasPrefix(want, "+"):
		return n > limit
	case strings.HasPrefix(want, "-"):
		return n < limit
	}
	return n == limit
}

func sized(value string) findTest {
	unit := int64(512)
	switch {
	case strings.HasSuffix(value, "c"):
		unit = 1
	case strings.HasSuffix(value, "k"):
		unit = 1 << 10
	case strings.HasSuffix(value, "M"):
		unit = 1 << 20
	case strings.HasSuffix(value, "G"):
		unit = 1 << 30
	}
	number := strings.TrimRight(value, "bckwMG")
	return func(at *foundFile) (bool, error) { return numberFits((at.info.Size()+unit-1)/unit, number), nil }
}

// action is a part of the expression that does something.
func (f *finding) action(arg string) (findTest, error) {
	f.acts = f.acts || arg != "-prune"
	switch arg {
	case "-prune":
		return func(at *foundFile) (bool, error) {
			at.pruned = true
			return true, nil
		}, nil
	case "-delete":
		f.depthFirst = true
		return func(at *foundFile) (bool, error) {
			return true, f.machine.Files.Remove(f.path(at.name))
		}, nil
	case "-exec", "-execdir":
		return f.exec()
	case "-quit":
		f.unsupported(arg)
		return nil, errFind
	}
	end := "\n"
	if arg == "-print0" {
		end = "\x00"
	}
	return func(at *foundFile) (bool, error) {
		_, err := fmt.Fprint(f.out, at.name, end)
		return true, err
	}, nil
}

// exec is -exec COMMAND ; or -exec COMMAND {} +.
func (f *finding) exec() (findTest, error) {
	var command []string
	for {
		word, err := f.next()
		if err != nil {
			return nil, err
		}
		if word == ";" {
			break
		}
		if word == "+" && len(command) > 0 && command[len(command)-1] == "{}" {
			b := &findBatch{command: command[: len(command)-1 : len(command)-1]}
			f.batches = append(f.batches, b)
			return func(at *foundFile) (bool, error) {
				b.files = append(b.files, at.name)
				return true, f.keep(len(at.name) + lineBytes)
			}, nil
		}
		command = append(command, word)
	}
	if len(command) == 0 {
		f.fail("-exec needs a command")
		return nil, errFind
	}
	return func(at *foundFile) (bool, error) {
		args := make([]string, len(command))
		for i, word := range command {
			args[i] = strings.ReplaceAll(word, "{}", at.name)
		}
		return unknown.Holds(f.start(args)), f.ended()
	}, nil
}
