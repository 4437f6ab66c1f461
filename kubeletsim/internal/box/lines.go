package box

import (
	"bufio"
	"context"
	"io"
	"strings"
)

// eachLine calls do for every line with its end, if it has one. A line's memory is released after do.
func (p *proc) eachLine(r io.Reader, do func(line string) error) error {
	lines := bufio.NewReader(r)
	for {
		line, kept, err := p.line(lines)
		if line != "" {
			doErr := do(line)
			p.drop(kept)
			if doErr != nil {
				return doErr
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// line reads one line. It reserves kept bytes for it.
func (p *proc) line(r *bufio.Reader) (line string, kept int, err error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		n := 3 * len(part) // the bytes that append makes room for, and the string
		if keepErr := p.keep(n); keepErr != nil {
			return "", 0, keepErr
		}
		kept += n
		if err != bufio.ErrBufferFull {
			return string(append(long, part...)), kept, err
		}
		long = append(long, part...)
	}
}

// eachOf calls do for every line of all inputs, without its end, and returns the program's exit code.
func (p *proc) eachOf(ctx context.Context, names []string, do func(line string) error) int {
	return p.inputs(ctx, names, func(_ string, r io.Reader) error {
		return p.eachLine(r, func(line string) error { return do(strings.TrimSuffix(line, "\n")) })
	})
}

// allLines reads the lines of all inputs, without their ends.
func (p *proc) allLines(ctx context.Context, names []string) ([]string, int) {
	var lines []string
	code := p.inputs(ctx, names, func(_ string, r io.Reader) error {
		return p.eachLine(r, func(line string) error {
			if err := p.keep(2*lineBytes + len(line)); err != nil {
				return err
			}
			lines = append(lines, strings.TrimSuffix(line, "\n"))
			return nil
		})
	})
	return lines, code
}

// allLinesBut writes the lines of an input but the last n.
func (p *proc) allLinesBut(r io.Reader, n int) error {
	var held []string
	return p.eachLine(r, func(line string) error {
		if err := p.keep(len(line) + lineBytes); err != nil {
			return err
		}
		if held = append(held, line); len(held) <= n {
			return nil
		}
		first := held[0]
		held = held[1:]
		p.drop(len(first) + lineBytes)
		_, err := io.WriteString(p.out, first)
		return err
	})
}

// allBut writes an input but its last n bytes.
func (p *proc) allBut(r io.Reader, n int) error {
	data, err := p.readAll(r)
	if err != nil {
		return err
	}
	_, err = p.out.Write(data[:max(0, len(data)-n)])
	return err
}

// lastLines writes the last n lines of an input. It keeps no others.
func (p *proc) lastLines(r io.Reader, n int) error {
	type kept struct {
		line  string
		bytes int
	}
	var last []kept
	first := 0
	err := p.eachLine(r, func(line string) error {
		k := kept{line, len(line) + lineBytes}
		if n == 0 {
			return nil
		}
		if err := p.keep(k.bytes); err != nil {
			return err
		}
		if len(last) < n {
			last = append(last, k)
			return nil
		}
		p.drop(last[first].bytes)
		last[first] = k
		first = (first + 1) % n
		return nil
	})
	if err != nil {
		return err
	}
	for i := range last {
		if _, err := io.WriteString(p.out, last[(first+i)%len(last)].line); err != nil {
			return err
		}
	}
	return nil
}

// lastBytes writes the last n bytes of an input.
func (p *proc) lastBytes(r io.Reader, n int) error {
	var data []byte
	buf := make([]byte, 32<<10)
	for {
		read, err := r.Read(buf)
		if len(data)+read > cap(data) {
			room := 2*len(data) + len(buf)
			if err := p.keep(room); err != nil {
				return err
			}
			data = append(make([]byte, 0, room), data...)
		}
		data = append(data, buf[:read]...)
		if len(data) > 2*n+len(buf) {
			data = append(data[:0], data[len(data)-n:]...)
		}
		if err == io.EOF {
			_, err = p.out.Write(data[max(len(data)-n, 0):])
			return err
		}
		if err != nil {
			return err
		}
	}
}

// lineBytes is the memory of a line besides its text.
const lineBytes = 32
