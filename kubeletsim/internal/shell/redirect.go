package shell

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/syntax"
)

// maxFD bounds the descriptors of a shell.
const maxFD = 255

// redirect opens the targets of redirections. It saves the streams that they replace. It reports an error of a
// file, and returns false for it.
func (s *Shell) redirect(ctx context.Context, redirs []*syntax.Redirect, saved map[int]*stream) (ok bool, err error) {
	for _, r := range redirs {
		fd, name := s.descriptor(r)
		f, err := s.target(ctx, r)
		switch {
		case errors.Is(err, errReported):
			return false, nil
		case err != nil:
			return false, err
		}
		if name != "" {
			for fd = 10; s.files[fd] != nil; fd++ {
			}
			if err := s.assign(name, strconv.Itoa(fd)); err != nil {
				return false, err
			}
		}
		if fd < 0 || fd > maxFD {
			f.close()
			s.complain("%d: bad file descriptor", fd)
			return false, nil
		}
		s.replace(fd, f, saved, name != "")
		if r.Op == syntax.RdrAll || r.Op == syntax.AppAll || r.Op == syntax.DplOut && r.N == nil && f != nil && f.file != nil {
			s.replace(2, f.share(), saved, false)
		}
	}
	return true, nil
}

// errReported means that a message has been written already.
var errReported = errors.New("reported")

func (s *Shell) replace(fd int, f *stream, saved map[int]*stream, keep bool) {
	if _, again := saved[fd]; again || keep {
		s.files[fd].close()
	} else {
		saved[fd] = s.files[fd]
	}
	if s.files[fd] = f; f == nil {
		delete(s.files, fd)
	}
}

// descriptor returns the descriptor of a redirection, or the variable that is to hold it.
func (s *Shell) descriptor(r *syntax.Redirect) (fd int, name string) {
	if r.N != nil {
		if strings.HasPrefix(r.N.Value, "{") {
			return 0, strings.Trim(r.N.Value, "{}")
		}
		fd, err := strconv.Atoi(r.N.Value)
		if err != nil {
			return -1, ""
		}
		return fd, ""
	}
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return 0, ""
	}
	return 1, ""
}

// target opens the target of one redirection.
func (s *Shell) target(ctx context.Context, r *syntax.Redirect) (*stream, error) {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		text, err := s.document(ctx, r)
		if err != nil {
			return nil, err
		}
		return newText(s.Container, text)
	case syntax.WordHdoc:
		text, err := s.text(ctx, r.Word)
		if err != nil {
			return nil, err
		}
		return newText(s.Container, text+"\n")
	}
	name, err := s.text(ctx, r.Word)
	if err != nil {
		return nil, err
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	switch r.Op {
	case syntax.DplIn, syntax.DplOut:
		if name == "-" {
			return nil, nil
		}
		if fd, err := strconv.Atoi(name); err == nil {
			return s.duplicate(fd)
		}
		if r.Op == syntax.DplIn || r.N != nil {
			s.complain("%s: bad file descriptor", name)
			return nil, errReported
		}
	case syntax.RdrIn:
		flag = os.O_RDONLY
	case syntax.RdrInOut:
		flag = os.O_RDWR | os.O_CREATE
	case syntax.AppOut, syntax.AppAll:
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	case syntax.RdrOut:
		if info, err := s.Container.Stat(s.absolute(name)); err == nil && s.options["noclobber"] && info.Mode().IsRegular() {
			s.complain("can't create %s: File exists", name)
			return nil, errReported
		}
	}
	return s.open(ctx, name, flag)
}

func (s *Shell) duplicate(fd int) (*stream, error) {
	f := s.files[fd]
	if f == nil {
		s.complain("%d: bad file descriptor", fd)
		return nil, errReported
	}
	f = f.share()
	f.file = nil // it is not a new file
	return f, nil
}

// open opens a file, or one of the shell's own streams by its name.
func (s *Shell) open(ctx context.Context, name string, flag int) (*stream, error) {
	full := s.absolute(name)
	for _, prefix := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if text, ok := strings.CutPrefix(full, prefix); ok {
			if fd, err := strconv.Atoi(text); err == nil {
				return s.duplicate(fd)
			}
		}
	}
	switch full {
	case "/dev/stdin":
		return s.duplicate(0)
	case "/dev/stdout":
		return s.duplicate(1)
	case "/dev/stderr":
		return s.duplicate(2)
	}
	if name == "" {
		full = ""
	}
	connection, err := s.Container.Connect(ctx, full)
	switch {
	case connection != nil:
		return newStream(connection, flag), nil
	case ctx.Err() != nil && err != nil:
		return nil, err
	case err != nil:
		s.complain("%s: %v", name, err)
		return nil, errReported
	}
	f, err := s.Container.Open(full, flag, 0o666&^0o022)
	if err != nil {
		writes := flag&os.O_CREATE != 0
		switch {
		case errors.Is(err, ErrOutOfMemory):
			return nil, err
		case writes && errors.Is(err, fs.ErrNotExist):
			s.complain("can't create %s: nonexistent directory", name)
		case writes:
			s.complain("can't create %s: %s", name, reason(err))
		case errors.Is(err, fs.ErrNotExist):
			s.complain("can't open %s: no such file", name)
		default:
			s.complain("can't open %s: %s", name, reason(err))
		}
		return nil, errReported
	}
	return newStream(f, flag), nil
}

// newStream returns a stream of a file that was opened with flags of os.OpenFile.
func newStream(f File, flag int) *stream {
	opened := &stream{file: f}
	if flag&os.O_WRONLY == 0 {
		opened.in = fileStream{f}
	}
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		opened.out = fileStream{f}
	}
	return opened
}

// reason returns the C library's text for an error.
func reason(err error) string {
	var number syscall.Errno
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	text := err.Error()
	if errors.As(err, &number) {
		text = number.Error()
	}
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// document returns the text of a here-document.
func (s *Shell) document(ctx context.Context, r *syntax.Redirect) (string, error) {
	if r.Hdoc == nil {
		return "", nil
	}
	body := r.Hdoc
	if r.Op == syntax.DashHdoc {
		body = withoutTabs(body)
	}
	for _, part := range r.Word.Parts {
		lit, isLit := part.(*syntax.Lit)
		if !isLit || strings.Contains(lit.Value, `\`) {
			text := body.Lit()
			return text, s.hold(len(text))
		}
	}
	return s.quotedText(ctx, body.Parts, true)
}

// withoutTabs removes the tabs at the starts of lines of a here-document.
func withoutTabs(w *syntax.Word) *syntax.Word {
	parts := make([]syntax.WordPart, len(w.Parts))
	start := true
	for i, part := range w.Parts {
		parts[i] = part
		lit, ok := part.(*syntax.Lit)
		if ok {
			var b strings.Builder
			for line := range strings.Lines(lit.Value) {
				if start {
					line = strings.TrimLeft(line, "\t")
				}
				b.WriteString(line)
				start = true
			}
			start = strings.HasSuffix(lit.Value, "\n")
			copied := *lit
			copied.Value = b.String()
			parts[i] = &copied
			continue
		}
		start = false
	}
	return &syntax.Word{Parts: parts}
}
