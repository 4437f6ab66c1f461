package box

import (
	archive "archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// tar packs and unpacks archives. kubectl cp uses it.
func tar(ctx context.Context, p *proc) int {
	o, ok := p.tarOptions()
	if !ok {
		return 1
	}
	var err error
	switch o.mode {
	case 'c':
		err = p.pack(ctx, o)
	case 'x', 't':
		err = p.unpack(ctx, o)
	default:
		return p.fail("one of c, x and t is needed")
	}
	if p.guess.made {
		p.guess.hides = o.mode == 't' || o.toOut
		if o.mode == 'x' { // anything may have come out of it
			err = p.machine.Files.Obscure(p.path(o.dir))
		}
		return oneIf(err != nil)
	}
	if err != nil {
		if errors.Is(err, errDelayed) {
			return p.fail("%v", err)
		}
		return p.fail("%s", reason(err))
	}
	return 0
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

type tarOptions struct {
	mode          byte
	file, dir     string
	names         []string
	gzip, verbose bool
	toOut         bool
	strip         int
}

func (p *proc) tarOptions() (o tarOptions, ok bool) {
	o.file = "-"
	args := append([]string(nil), p.args[1:]...)
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		args[0] = "-" + args[0]
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if n, found := strings.CutPrefix(arg, "--strip-components="); found {
			o.strip = int(leadingNumber(n))
			continue
		}
		if strings.HasPrefix(arg, "--") || !strings.HasPrefix(arg, "-") || arg == "-" {
			if !strings.HasPrefix(arg, "--") {
				o.names = append(o.names, arg)
			}
			continue
		}
		for i, c := range []byte(arg[1:]) {
			value := arg[i+2:]
			takes := c == 'f' || c == 'C'
			if takes && value == "" {
				if len(args) == 0 {
					p.fail("option requires an argument: %c", c)
					return o, false
				}
				value, args = args[0], args[1:]
			}
			switch c {
			case 'c', 'x', 't':
				o.mode = c
			case 'f':
				o.file = value
			case 'C':
				o.dir = value
			case 'z':
				o.gzip = true
			case 'v':
				o.verbose = true
			case 'O':
				o.toOut = true
			case 'm', 'p', 'o', 'k', 'h':
			default:
				p.unsupported("-" + string(c))
				return o, false
			}
			if takes {
				break
			}
		}
	}
	return o, true
}

func (p *proc) pack(ctx context.Context, o tarOptions) error {
	out := io.Writer(p.out)
	if o.file != "-" {
		f, err := p.machine.Files.OpenFile(p.path(o.file), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		out = f
	}
	if o.gzip {
		zipped := gzip.NewWriter(out)
		defer zipped.Close() // the underlying writer reports its errors
		out = zipped
	}
	w := archive.NewWriter(out)
	inner := *p
	inner.held = 0
	inner.dir = p.path(o.dir)
	var failed error
	for _, name := range o.names {
		if _, err := p.machine.Files.Lstat(inner.path(name)); err != nil {
			p.failPath(name, err)
			failed = errDelayed
			continue
		}
		err := inner.walk(name, 0, func(name string, info fs.FileInfo, _ int) error {
			if o.verbose {
				_, _ = io.WriteString(p.err, name+"\n")
			}
			defer inner.free()
			return inner.packOne(ctx, w, name, info)
		})
		if err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return errors.Join(failed, w.Close())
}

// errDelayed means that an archive is incomplete for a reason that was reported before.
var errDelayed = errors.New("error exit delayed from previous errors")

func (p *proc) packOne(ctx context.Context, w *archive.Writer, name string, info fs.FileInfo) error {
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		target, _ = p.machine.Files.Readlink(p.path(name))
	}
	header, err := archive.FileInfoHeader(plainInfo{info}, target)
	if err != nil {
		return err
	}
	header.Name = strings.TrimLeft(name, "/")
	if info.IsDir() {
		header.Name += "/"
	}
	header.Uname, header.Gname = "root", "root"
	var data []byte
	if info.Mode().IsRegular() {
		if data, err = p.readFile(ctx, name); err != nil {
			return err
		}
		header.Size = int64(len(data))
	}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// plainInfo is a file's info without its Sys.
type plainInfo struct{ fs.FileInfo }

func (plainInfo) Sys() any { return nil }

func (p *proc) unpack(ctx context.Context, o tarOptions) error {
	in, err := p.open(ctx, o.file)
	if err != nil {
		return err
	}
	from := in
	if o.gzip {
		zipped, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		from = boundReader(ctx, plainReader{zipped})
	}
	inner := *p
	inner.held = 0
	inner.dir = p.path(o.dir)
	r := archive.NewReader(from)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			// Read past the end of the archive, so that the sender can finish.
			_, err = io.Copy(io.Discard, from)
			return err
		}
		if err != nil {
			return err
		}
		name, wanted := o.wanted(header.Name)
		if !wanted {
			continue
		}
		if o.mode == 't' {
			if o.verbose {
				p.print("%s root/root %9d %s ", modeText(header.FileInfo().Mode()), header.Size, tarTime(header.ModTime))
			}
			p.print("%s\n", header.Name)
			continue
		}
		if o.verbose {
			p.print("%s\n", header.Name)
		}
		if err := inner.unpackOne(r, header, name, o.toOut); err != nil {
			return err
		}
	}
}

// wanted returns the name that an entry is unpacked to, and whether it is.
func (o *tarOptions) wanted(name string) (string, bool) {
	clean := path.Clean("/" + name)[1:]
	if len(o.names) > 0 {
		among := false
		for _, other := range o.names {
			other = strings.Trim(path.Clean("/"+other), "/")
			among = among || clean == other || strings.HasPrefix(clean, other+"/")
		}
		if !among {
			return "", false
		}
	}
	for range o.strip {
		_, rest, found := strings.Cut(clean, "/")
		if !found {
			return "", false
		}
		clean = rest
	}
	return clean, clean != ""
}

func (p *proc) unpackOne(r io.Reader, header *archive.Header, name string, toOut bool) error {
	files, at := p.machine.Files, p.path(name)
	if toOut {
		_, err := io.Copy(p.out, r)
		return err
	}
	if err := files.MkdirAll(path.Dir(at), 0o755); err != nil {
		return err
	}
	mode := header.FileInfo().Mode()
	switch header.Typeflag {
	case archive.TypeDir:
		return files.MkdirAll(at, mode.Perm())
	case archive.TypeSymlink:
		_ = files.Remove(at)
		return files.Symlink(header.Linkname, at)
	case archive.TypeReg:
		if err := p.writeFile(at, r, mode); err != nil {
			return err
		}
		return files.Chmod(at, mode.Perm())
	}
	return nil
}
