package box

import (
	"context"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// sysctl shows parameters of the kernel, which the files below /proc/sys hold, and sets them for the container.
func sysctl(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("neqwaNr", "")
	if !ok {
		return 1
	}
	if has(flags, 'a') || has(flags, 'p') || has(flags, 'S') || p.machine.Unknown && len(names) == 0 {
		return p.unsupported("-a")
	}
	code := 0
	for _, name := range names {
		name, value, sets := strings.Cut(name, "=")
		file := "/proc/sys/" + strings.ReplaceAll(strings.TrimSpace(name), ".", "/")
		data, err := p.machine.Files.ReadFile(file)
		assumed := err == nil && unknown.In(string(data))
		switch value = strings.TrimSpace(value); {
		case err != nil && has(flags, 'e'):
			continue
		case err != nil:
			code = p.fail("error: '%s' is an unknown key", name)
			continue
		case assumed && !sets:
			code = p.unsure(file)
			continue
		case assumed:
			p.Assume("the kernel parameter " + unknown.Show(name) + " can be set")
		}
		if sets {
			if err := p.writeFile(file, strings.NewReader(value+"\n"), 0o644); err != nil {
				code = p.failPath(name, err)
				continue
			}
		} else {
			value = strings.TrimSuffix(string(data), "\n")
		}
		switch {
		case has(flags, 'q'):
		case has(flags, 'n'):
			p.print("%s\n", value)
		default:
			p.print("%s = %s\n", strings.ReplaceAll(name, "/", "."), value)
		}
	}
	return code
}

// syncFiles does nothing: what is written is at once what others read.
func syncFiles(context.Context, *proc) int { return 0 }
