package shelltree

import (
	"errors"
	"fmt"
	"io"
	"runtime"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// MaxText bounds a script, in bytes.
	MaxText = 256 << 10
	// maxFrames bounds the parser's recursion, in calls. A call takes less than 500 bytes, so that the
	// parser's stack stays below some megabytes. One level of parentheses takes about 20 calls.
	maxFrames = 6000
	// parseChunk is the number of bytes after which the recursion is measured again.
	parseChunk = 64
	// TreeBytes is the memory that the syntax tree takes for one byte of text, at most.
	TreeBytes = 64
)

var (
	errTooLong = fmt.Errorf("the script is longer than %d bytes", MaxText)
	errTooDeep = errors.New("the script nests too deeply")
)

// Parse parses a script. It fails for a text that is longer than MaxText, or so deeply nested that the
// parser would need more than a few megabytes of stack. Parse calls step, unless it is nil, every few bytes,
// and fails with its error.
func Parse(text, name string, step func() error) (*syntax.File, error) {
	return guarded(text, step, func(p *syntax.Parser, r io.Reader) (*syntax.File, error) { return p.Parse(r, name) })
}

// Check returns what is wrong with the syntax of a script: its line and column, and the reason.
func Check(text string) error {
	_, err := Parse(text, "", nil)
	var wrong syntax.ParseError
	if errors.As(err, &wrong) {
		return fmt.Errorf("it is no script of a shell: line %d, column %d: %s", wrong.Pos.Line(), wrong.Pos.Col(), wrong.Text)
	}
	return err
}

// ParseArithmetic parses an arithmetic expression, with the limits of Parse.
func ParseArithmetic(text string, step func() error) (syntax.ArithmExpr, error) {
	return guarded(text, step, func(p *syntax.Parser, r io.Reader) (syntax.ArithmExpr, error) { return p.Arithmetic(r) })
}

// guarded runs the parser on a goroutine of its own, whose stack holds the parser's calls only, and waits
// for it. The parser reads a few bytes at a time; the reader ends the parse once the stack is too deep.
// Counting brackets in the text instead would have to know all of the shell's quoting.
func guarded[T any](text string, step func() error, parse func(*syntax.Parser, io.Reader) (T, error)) (tree T, err error) {
	if len(text) > MaxText {
		return tree, errTooLong
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("the parser failed: %v", r)
			}
		}()
		tree, err = parse(syntax.NewParser(syntax.Variant(syntax.LangBash)), &measured{step: step, rest: text})
	}()
	<-done
	return tree, err
}

// measured reads a text in small pieces, while the stack of its reader is not too deep.
type measured struct {
	step func() error
	rest string
}

func (m *measured) Read(p []byte) (int, error) {
	if m.step != nil {
		if err := m.step(); err != nil {
			return 0, err
		}
	}
	var frame [1]uintptr
	if runtime.Callers(maxFrames, frame[:]) > 0 {
		return 0, errTooDeep
	}
	if m.rest == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), parseChunk)], m.rest)
	m.rest = m.rest[n:]
	return n, nil
}
