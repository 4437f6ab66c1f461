package box

import (
	"context"
	"strings"
)

// sysctl shows parameters of the kernel, which the files below /proc/sys hold.
func sysctl(_ context.Context, p *proc) int {
	flags, names, ok := p.parse("ne", "")
	if !ok {
		return 1
	}
	code := 0
	for _, name := range names {
		file := strings.ReplaceAll(name, ".", "/")
		data, err := p.machine.Files.ReadFile("/proc/sys/" + file)
		switch value := strings.TrimSuffix(string(data), "\n"); {
		case err != nil && has(flags, 'e'):
		case err != nil:
			code = p.fail("error: '%s' is an unknown key", name)
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
