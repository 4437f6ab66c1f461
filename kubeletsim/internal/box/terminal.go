package box

import (
	"context"
	"io"
	"slices"
	"sync"
	"unicode/utf8"
)

// The characters that a terminal's line discipline acts upon.
const (
	keyInterrupt = 0x03
	keyEOF       = 0x04
	keyBackspace = 0x08
	keyErase     = 0x7f
	keyKill      = 0x15
	keyWordErase = 0x17
	keyEscape    = 0x1b
)

// maxTyped bounds a line that is typed on a terminal, in bytes, as on Linux.
const maxTyped = 4095

// terminal is the line discipline of a terminal: it echoes input, allows corrections, and
// passes input on line by line.
type terminal struct {
	input     *input
	echo      io.Writer
	interrupt func()

	line   []byte
	escape int // how far an escape sequence has come
}

// Write takes typed input.
func (t *terminal) Write(p []byte) (int, error) {
	for _, c := range p {
		if err := t.key(c); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (t *terminal) key(c byte) error {
	if t.skipEscape(c) {
		return nil
	}
	switch c {
	case '\r', '\n':
		t.show("\n")
		line := append(t.line, '\n')
		t.line = nil
		_, err := t.input.Write(line)
		return err
	case keyInterrupt:
		t.line = nil
		t.show("^C\n")
		t.interrupt()
	case keyEOF:
		if len(t.line) == 0 {
			t.input.cut()
			return nil
		}
		line := t.line
		t.line = nil
		_, err := t.input.Write(line)
		return err
	case keyBackspace, keyErase:
		t.erase(1)
	case keyKill:
		t.erase(len(t.line))
	case keyWordErase:
		t.eraseWord()
	default:
		if c < ' ' && c != '\t' {
			return nil
		}
		if len(t.line) >= maxTyped {
			return nil
		}
		t.line = append(t.line, c)
		t.show(string([]byte{c}))
	}
	return nil
}

// skipEscape skips the sequences of keys without a character, such as arrows.
func (t *terminal) skipEscape(c byte) bool {
	switch {
	case c == keyEscape:
		t.escape = 1
	case t.escape == 1 && (c == '[' || c == 'O'):
		t.escape = 2
	case t.escape == 2 && c >= 0x40 && c <= 0x7e, t.escape == 1:
		t.escape = 0
	case t.escape == 0:
		return false
	}
	return true
}

// erase takes n characters back.
func (t *terminal) erase(n int) {
	for ; n > 0 && len(t.line) > 0; n-- {
		_, size := utf8.DecodeLastRune(t.line)
		t.line = t.line[:len(t.line)-size]
		t.show("\b \b")
	}
}

func (t *terminal) eraseWord() {
	for len(t.line) > 0 && t.line[len(t.line)-1] == ' ' {
		t.erase(1)
	}
	for len(t.line) > 0 && t.line[len(t.line)-1] != ' ' {
		t.erase(1)
	}
}

func (t *terminal) show(text string) { _, _ = io.WriteString(t.echo, text) }

// interrupts holds the functions for an interrupt from the terminal, which calls the last one that was pushed and
// not removed.
type interrupts struct {
	mu    sync.Mutex
	stack []*func()
}

// push makes raise call do until the returned func is called.
func (i *interrupts) push(do func()) (pop func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	entry := &do
	i.stack = append(i.stack, entry)
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.stack = slices.DeleteFunc(i.stack, func(other *func()) bool { return other == entry })
	}
}

// foreground returns a context that an interrupt ends.
func (i *interrupts) foreground(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	pop := i.push(cancel)
	return ctx, func() {
		pop()
		cancel()
	}
}

func (i *interrupts) raise() {
	i.mu.Lock()
	var do func()
	if n := len(i.stack); n > 0 {
		do = *i.stack[n-1]
	}
	i.mu.Unlock()
	if do != nil {
		do()
	}
}
