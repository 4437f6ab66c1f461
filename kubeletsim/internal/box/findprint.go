package box

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/applets"
)

// printed is -printf FORMAT.
func (f *finding) printed(format string) (findTest, error) {
	f.acts = true
	if what := unprintable(format); what != "" {
		f.unsupported("-printf " + what)
		return nil, errFind
	}
	return func(at *foundFile) (bool, error) {
		_, err := fmt.Fprint(f.out, f.formatted(format, at))
		return true, err
	}, nil
}

// printfEscapes are the characters that -printf has for a letter after a backslash.
var printfEscapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\0`, "\x00", `\a`, "\a", `\f`, "\f", `\v`, "\v")

// unprintable returns the first directive of a format that is not simulated.
func unprintable(format string) string {
	for i := strings.IndexByte(format, '%'); i >= 0 && i < len(format); {
		rest := format[i+1:]
		size := 1
		if strings.HasPrefix(rest, "T") {
			size = 2
		}
		if len(rest) < size || !strings.Contains("pPfhsmMydugUGlT%", rest[:1]) {
			return format[i:]
		}
		next := strings.IndexByte(rest[size:], '%')
		if next < 0 {
			break
		}
		i += 1 + size + next
	}
	return ""
}

// formatted returns the output of -printf for a file.
func (f *finding) formatted(format string, at *foundFile) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(format, "%")
		b.WriteString(printfEscapes.Replace(before))
		if !found {
			return b.String()
		}
		directive := rest[0]
		if rest = rest[1:]; directive == 'T' {
			b.WriteString(timeOf(at, rest[:1]))
			rest = rest[1:]
		} else {
			b.WriteString(f.property(directive, at))
		}
		format = rest
	}
}

func timeOf(at *foundFile, letter string) string {
	modified := at.info.ModTime().UTC()
	if letter == "@" {
		return fmt.Sprintf("%d.%09d0", modified.Unix(), modified.Nanosecond())
	}
	text, _ := applets.FormatDate(modified, "%"+letter)
	return text
}

// property returns the value of a directive of -printf.
func (f *finding) property(directive byte, at *foundFile) string {
	switch directive {
	case 'p':
		return at.name
	case 'P':
		return strings.TrimPrefix(strings.TrimPrefix(at.name, at.root), "/")
	case 'f':
		return path.Base(at.name)
	case 'h':
		return path.Dir(at.name)
	case 's':
		return strconv.FormatInt(at.info.Size(), 10)
	case 'm':
		return strconv.FormatUint(uint64(at.info.Mode().Perm()), 8)
	case 'M':
		return modeText(at.info.Mode())
	case 'y':
		return kindLetter(at.info.Mode())
	case 'd':
		return strconv.Itoa(at.depth)
	case 'u', 'g': // all belongs to root
		return "root"
	case 'U', 'G':
		return "0"
	case 'l':
		target, _ := f.machine.Files.Readlink(f.path(at.name)) // empty for all but links
		return target
	}
	return "%"
}
