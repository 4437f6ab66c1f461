package box

import (
	"context"
	"io"
	"io/fs"
	"time"

	"minikcm.dev/minikcm/internal/span"
)

// followEvery is the period of tail -f, as in BusyBox.
const followEvery = time.Second

// follows returns the function of tail -f or -F that runs after the ends of files are written: it writes the text that is
// appended to them. It is nil without these flags.
func (p *proc) follows(names []string) func(ctx context.Context) int {
	flags, _, _ := options(p.args[1:], "fFqv_0123456789", "ncs", longOptions("tail"))
	if !has(flags, 'f') && !has(flags, 'F') || len(names) == 0 {
		return nil
	}
	written := make([]int64, len(names))
	growing := false
	for i, name := range names {
		info, err := p.machine.Files.Stat(p.path(name))
		if err == nil {
			written[i] = info.Size()
		}
		growing = growing || err == nil && info.Mode()&fs.ModeDevice == 0 || err != nil && has(flags, 'F')
	}
	return func(ctx context.Context) int {
		if !growing { // as for tail -f /dev/null
			_ = p.sleep(ctx, span.Forever)
			return exitInterrupted
		}
		for p.sleep(ctx, followEvery) == nil {
			for i, name := range names {
				if err := p.writeRest(ctx, name, &written[i]); err != nil {
					return 1
				}
			}
		}
		return exitInterrupted
	}
}

// writeRest writes a file from an offset on, and from its start if it has become shorter.
func (p *proc) writeRest(ctx context.Context, name string, offset *int64) error {
	info, err := p.machine.Files.Stat(p.path(name))
	if err != nil || info.Mode()&fs.ModeDevice != 0 || info.Size() == *offset {
		return nil // it may come back
	}
	f, err := p.open(ctx, name)
	if err != nil {
		return nil // as above
	}
	if *offset > info.Size() {
		*offset = 0
	}
	if _, err := io.CopyN(io.Discard, f, *offset); err != nil {
		return nil // it has become shorter meanwhile
	}
	n, err := io.Copy(p.out, f)
	*offset += n
	return err
}
