package box

import (
	"context"
	"crypto/md5"  // md5sum is asked for it
	"crypto/sha1" // sha1sum is asked for it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"io"
	"path"
	"strings"
)

// digest returns the hash that a program such as sha256sum computes.
func digest(program string) hash.Hash {
	switch program {
	case "md5sum":
		return md5.New() // as above
	case "sha1sum":
		return sha1.New() // as above
	case "sha512sum":
		return sha512.New()
	}
	return sha256.New()
}

func sum(ctx context.Context, p *proc) int {
	flags, names, ok := p.parse("csbtqw", "")
	if !ok {
		return 1
	}
	name := path.Base(p.args[0])
	if has(flags, 'c') {
		return p.checkSums(ctx, name, names, flags)
	}
	return p.inputs(ctx, names, func(file string, r io.Reader) error {
		d := digest(name)
		if _, err := io.Copy(d, r); err != nil {
			return err
		}
		p.print("%s  %s\n", hex.EncodeToString(d.Sum(nil)), file)
		return nil
	})
}

// checkSums compares files with their digests in lists.
func (p *proc) checkSums(ctx context.Context, program string, lists []string, flags map[byte]string) int {
	failed := 0
	code := p.eachOf(ctx, lists, func(line string) error {
		want, file, ok := strings.Cut(line, " ")
		if !ok {
			return nil
		}
		file = strings.TrimLeft(file, " *")
		f, err := p.open(ctx, file)
		d := digest(program)
		if err == nil {
			_, err = io.Copy(d, f)
		}
		verdict := "OK"
		if err != nil || hex.EncodeToString(d.Sum(nil)) != strings.ToLower(want) {
			verdict = "FAILED"
			failed++
		}
		if !has(flags, 's') && !(has(flags, 'q') && verdict == "OK") {
			p.print("%s: %s\n", file, verdict)
		}
		return nil
	})
	if failed > 0 {
		return p.fail("WARNING: %d of the computed checksums did NOT match", failed)
	}
	return code
}
