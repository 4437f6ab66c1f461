package box

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strconv"
)

// hexdump prints bytes in hexadecimal, sixteen a line: with -C, or as hd, each byte and the text beside it; without, words of two bytes in
// the machine's order, the lower one first. Lines that equal the one before are one asterisk, unless -v is given. -s skips bytes, -n ends after
// some.
func hexdump(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("Cv", "ns")
	if !ok {
		return 1
	}
	skip, limit := int64(0), int64(-1)
	for _, option := range []struct {
		flag byte
		to   *int64
	}{{'n', &limit}, {'s', &skip}} {
		if has(flags, option.flag) {
			n, err := strconv.ParseInt(flags[option.flag], 0, 64)
			if err != nil || n < 0 {
				return p.fail("invalid number '%s'", flags[option.flag])
			}
			*option.to = n
		}
	}
	d := &hexLines{out: p.out, canonical: has(flags, 'C') || path.Base(p.args[0]) == "hd", verbose: has(flags, 'v'), at: skip}
	code := p.inputs(ctx, names, func(_ string, r io.Reader) error {
		skipped, err := io.CopyN(io.Discard, r, skip)
		skip -= skipped
		if err != nil || limit == 0 {
			return noEOF(err)
		}
		if limit > 0 {
			r = io.LimitReader(r, limit)
		}
		n, err := io.Copy(d, r)
		if limit > 0 {
			limit -= n
		}
		return err
	})
	if d.end() != nil {
		return 1
	}
	return code
}

// noEOF returns an error unless it is the end of a file.
func noEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// hexLines writes what is written to it in lines of hexadecimal numbers.
type hexLines struct {
	out                io.Writer
	canonical, verbose bool
	// at is the offset of the next line.
	at int64
	// part is the beginning of the next line, and last the line before it.
	part, last []byte
	// starred means that an asterisk stands for the lines before.
	starred bool
}

// hexLine is the number of bytes that one line shows.
const hexLine = 16

func (d *hexLines) Write(data []byte) (int, error) {
	n := len(data)
	for len(data) > 0 {
		take := min(len(data), hexLine-len(d.part))
		d.part, data = append(d.part, data[:take]...), data[take:]
		if len(d.part) < hexLine {
			break
		}
		if err := d.line(); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// line writes the line that is complete.
func (d *hexLines) line() error {
	text := ""
	switch repeated := !d.verbose && bytes.Equal(d.part, d.last); {
	case !repeated:
		text, d.starred = d.format(), false
	case !d.starred:
		text, d.starred = "*\n", true
	}
	d.at += int64(len(d.part))
	d.last, d.part = append(d.last[:0], d.part...), d.part[:0]
	_, err := io.WriteString(d.out, text)
	return err
}

func (d *hexLines) format() string {
	var b bytes.Buffer
	if !d.canonical {
		fmt.Fprintf(&b, "%07x", d.at)
		for i := 0; i < len(d.part); i += 2 {
			word := uint16(d.part[i])
			if i+1 < len(d.part) {
				word |= uint16(d.part[i+1]) << 8
			}
			fmt.Fprintf(&b, " %04x", word)
		}
		const width = len("0000000") + 5*hexLine/2
		fmt.Fprintf(&b, "%*s\n", width-b.Len(), "")
		return b.String()
	}
	fmt.Fprintf(&b, "%08x ", d.at)
	for i, c := range d.part {
		if i == hexLine/2 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, " %02x", c)
	}
	const width = len("00000000 ") + 3*hexLine + 1
	fmt.Fprintf(&b, "%*s  |", width-b.Len(), "")
	for _, c := range d.part {
		if c < ' ' || c > '~' {
			c = '.'
		}
		b.WriteByte(c)
	}
	b.WriteString("|\n")
	return b.String()
}

// end writes what is left, and the offset of the end if there was anything.
func (d *hexLines) end() error {
	if len(d.part) > 0 {
		if err := d.line(); err != nil {
			return err
		}
	}
	if d.last == nil {
		return nil
	}
	digits := 7
	if d.canonical {
		digits = 8
	}
	_, err := fmt.Fprintf(d.out, "%0*x\n", digits, d.at)
	return err
}
