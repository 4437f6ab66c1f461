package box

import (
	"context"
	"strings"

	"minikcm.dev/minikcm/kubeletsim/internal/applets"
)

// programs returns the implementations of applets.Names and applets.Others.
func programs() map[string]program {
	return map[string]program{
		"[": builtin, "echo": builtin, "printf": builtin, "pwd": builtin, "test": builtin, "true": builtin, "false": builtin,
		"sh": runShell, "ash": runShell, "bash": runShell, "dash": runShell, "busybox": busybox,
		"cat": cat, "head": head, "tail": tail, "wc": wc, "grep": grep, "egrep": grep, "sort": sortLines, "uniq": uniq, "cut": cut,
		"tr": tr, "awk": runAwk, "gawk": runAwk, "mawk": runAwk, "tee": tee, "base64": encode64, "sha256sum": sum, "md5sum": sum, "sha1sum": sum, "sha512sum": sum, "fgrep": grep, "sed": sed, "diff": diff, "cmp": compareFiles, "paste": paste, "rev": rev, "tac": tac, "nl": nl, "xargs": xargs,
		"ls": ls, "mkdir": mkdir, "rm": rm, "rmdir": rmdir, "cp": cp, "mv": mv, "touch": touch, "ln": ln, "chmod": chmod, "chown": chown, "chgrp": chown,
		"stat": stat, "find": find, "du": du, "df": df, "readlink": readlink, "realpath": realpath, "basename": basename, "dirname": dirname,
		"mktemp": mktemp, "mount": mount, "umount": umount, "split": split, "comm": comm, "join": join, "getent": getent, "tar": tar, "install": install, "truncate": truncate, "dd": dd, "unlink": unlink,
		"date": date, "sleep": sleep, "usleep": sleep, "seq": seq, "expr": expr, "hostname": hostname, "uname": uname, "id": id, "whoami": whoami, "env": env,
		"printenv": printenv, "which": which, "ps": ps, "kill": kill, "nproc": nproc, "uptime": uptime, "umask": umask, "tty": tty, "stty": stty, "sysctl": sysctl, "sync": syncFiles,
		"nohup": runArguments, "nice": runArguments, "setsid": runArguments, "flock": flock, "pgrep": pgrep, "pidof": pgrep, "logger": logger,
		"clear": clearScreen, "yes": yes, "hexdump": hexdump, "hd": hexdump, "timeout": timeout, "time": timed,
		"minikcm-certgen": certgen, "wget": wget, "curl": curl, "nc": netcat, "httpd": httpd, "nslookup": nslookup,
		"ping": ping, "ping6": ping, "dig": dig, "host": lookUpHost,
	}
}

// busybox runs the program that its first argument names.
func busybox(ctx context.Context, p *proc) int {
	if len(p.args) < 2 || p.args[1] == "--help" || p.args[1] == "--list" {
		p.print("%s\n", strings.Join(applets.Names(), "\n"))
		return 0
	}
	run := programs()[p.args[1]]
	if run == nil {
		return p.fail("%s: applet not found", p.args[1]) + exitNotFound - 1
	}
	inner := *p
	inner.args = p.args[1:]
	return run(ctx, &inner)
}

// certgen runs the machine's program that makes certificates.
func certgen(ctx context.Context, p *proc) int {
	if p.machine.Certgen == nil {
		return p.fail("the container has no access to the API server")
	}
	return p.machine.Certgen(ctx, p.args[1:], p.out, p.err)
}
