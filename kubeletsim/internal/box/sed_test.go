package box

import (
	"testing"

	"minikcm.dev/minikcm/clock"
)

func TestSed(t *testing.T) {
	for _, tt := range []struct{ script, stdin, out string }{
		{"sed s/a/b/", "a a\nc\n", "b a\nc\n"},
		{"sed 's/a/[&]/g'", "a a\n", "[a] [a]\n"},
		{"sed -E 's/([a-z]+)=([0-9]+)/\\2=\\1/'", "x=1\n", "1=x\n"},
		{"sed 's/\\(a\\)\\(b\\)/\\2\\1/'", "ab\n", "ba\n"},
		{"sed -n '/b/p'", "a\nb\n", "b\n"},
		{"sed '/^#/d; /^$/d'", "#x\n\ny\n", "y\n"},
		{"sed '2,3d'", "1\n2\n3\n4\n", "1\n4\n"},
		{"sed -n '$p;2{p;q}'", "1\n2\n3\n", "2\n"},
		{"sed '/b/,/d/s/^/> /'", "a\nb\nc\nd\ne\n", "a\n> b\n> c\n> d\ne\n"},
		{"sed '1!G;h;$!d'", "1\n2\n3\n", "3\n2\n1\n"},
		{"sed ':a;N;$!ba;s/\\n/,/g'", "1\n2\n3\n", "1,2,3\n"},
		{"sed -e 's|/a|/b|' -e 's/x/y/'", "/a x\n", "/b y\n"},
		{"sed '/a/a after'", "a\nb\n", "a\nafter\nb\n"},
		{"sed '1i before'", "a\n", "before\na\n"},
		{"sed '/a/c changed'", "a\nb\n", "changed\nb\n"},
		{"sed 'y/abc/xyz/'", "aabbcc\n", "xxyyzz\n"},
		{"sed 's/.*/\\U&/;s/B/\\l&/'", "abc\n", "AbC\n"},
		{"sed 's/a/b/2'", "a a a\n", "a b a\n"},
		{"sed 's/A/b/I'", "a\n", "b\n"},
		{"sed -n '/a/='", "x\na\n", "2\n"},
		{"sed '0~2d'", "1\n2\n3\n4\n", "1\n3\n"},
		{"sed 's/x/\\n/'", "axb\n", "a\nb\n"},
		{"sed 's/[/]/-/;s/[^]]$/!/'", "a/b\n", "a-!\n"},
		{"sed '/a/{s/a/b/;s/b/c/}'", "a\nb\n", "c\nb\n"},
		{"sed 's/\"//g; s/a/\\//'", "\"a\"\n", "/\n"},
		{"sed -n 'H;${x;s/\\n/ /g;p}'", "1\n2\n", " 1 2\n"},
		{"sed '/x/,+1d'", "a\nx\nb\nc\n", "a\nc\n"},
		{"printf 'a\\nb' | sed s/b/c/", "", "a\nc"},
		{"printf 'k: v\\n' > f; sed -i -e 's/v/w/' f; sed -i.bak -E 's/(w)/<\\1>/' f; cat f", "", "k: <w>\n"},
		{"sed 's/a/b/' /nope; echo $?", "", "1\n"},
		{"sed 's/a'; echo $?", "", "1\n"},
		{"sed 'Z'; echo $?", "", "1\n"},
		{"sed -n 's/^v\\([0-9]*\\)$/\\1/p'", "v12\nx\n", "12\n"},
		{"sed 's,\\,,;,'", "a,b\n", "a;b\n"},
		{"sed '$!N;P;D'", "1\n2\n3\n", "1\n2\n3\n"},
		{"sed b; echo x | sed 't;s/x/y/;T;s/y/z/'", "a\n", "a\nz\n"},
	} {
		m := newMachine(clock.Real(), nil)
		m.Dir = "/tmp"
		if out, errOut, _ := run(t, m, tt.stdin, "sh", "-c", tt.script); out != tt.out {
			t.Errorf("%s: %q (%s), want %q", tt.script, out, errOut, tt.out)
		}
	}
}

// TestOptions shows options of GNU's programs, and of BusyBox's.
func TestOptions(t *testing.T) {
	for _, tt := range []struct{ script, out string }{
		{"mkdir -pv a/b; mkdir -m 0700 c; stat -c %a c", "created directory: 'a/b'\n700\n"},
		{"mkdir a; ln -sfn a l; ln -sfn /tmp l; readlink l; ln -sf x a; readlink a/x", "/tmp\nx\n"},
		{"echo 1 > a; echo 2 > b; cp -n a b; cat b; cp --update=none a b; cat b; cp -f a b; cat b; cp -vu a b", "2\n2\n1\n"},
		{"mkdir a; echo x > a/f; cp -rn a b; cp -a a/. c; cp -rT a d; cat b/f c/f d/f", "x\nx\nx\n"},
		{"echo x > a; mkdir d; cp -t d a; mv -n a d; ls d; ls a; mv -t d a; cat d/a", "a\na\nx\n"},
		{"printf '1.10\\n1.9\\n' | sort -V; printf '2K\\n1M\\n1\\n' | sort -h; printf 'b 2\\na 10\\n' | sort -k2,2n; printf 'b\\nA\\n' | sort -f", "1.9\n1.10\n1\n2K\n1M\nb 2\na 10\nA\nb\n"},
		{"date -u -d 2020-01-01 +%s; date -d '@0' +%F; date --date='2020-01-01 1 day ago' +%F; date -d 2020-02-01T00:00:00Z -Is", "1577836800\n1970-01-01\n2019-12-31\n2020-02-01T00:00:00+00:00\n"},
		{"touch h1 h2; find . -name 'h*' -exec echo {} + ; find . -type f ! -name h1 -print0 | xargs -0 -n1 echo; find . -maxdepth 1 -name h1 -o -name h2 | wc -l", "./h1 ./h2\n./h2\n2\n"},
		{"mkdir -p a/b; touch a/b/x a/y; find a -mindepth 1 -type f -delete; find a -type d -empty; find a \\( -name b -prune \\) -o -print", "a/b\na\n"},
		{"echo abc | grep -oP 'b\\w'; printf 'a\\nb\\na\\n' | grep -m1 -n a; echo x | grep -qF -- -x; echo $?; echo A | grep -ic a", "bc\n1:a\n1\n1\n"},
		{"seq -w 8 10; seq -s, 3; seq 0 0.5 1", "08\n09\n10\n1,2,3\n0\n0.5\n1\n"},
		{"printf abcdef | head -c 2; printf abcdef | head -c -2; seq 5 | head -n -3; seq 5 | tail -n +4; printf abc | tail -c 1", "ababcd1\n2\n4\n5\nc"},
		{"echo x > f; sha256sum f > s; sha256sum -c s; sha256sum -c --status s && echo ok; md5sum f | cut -c1-4; sha1sum f | wc -c", "f: OK\nok\n401b\n44\n"},
		{"d=$(mktemp -d); [ -d \"$d\" ] && echo dir; mktemp -u /tmp/a.XXXX.txt; mktemp -p /tmp -t x.XXXXXX | cut -c1-7; mktemp --suffix=.y | grep -c y$", "dir\n/tmp/a.000000.txt\n/tmp/x.\n1\n"},
		{"timeout 0.01 sleep 5; echo $?; timeout --preserve-status -s KILL 0.01 sleep 5; echo $?; timeout -k 1 5 true; echo $?", "124\n143\n0\n"},
		{"touch -d 2020-01-01 t; stat -c %Y t; touch -c none; ls none 2>/dev/null; stat --printf='%n\\n' t", "1577836800\nt\n"},
		{"chmod 0640 /tmp; touch f g; chmod 600 f; chmod --reference=f g; stat -c %a g; chmod -v u+x g; chmod -x g; stat -c %a g", "600\nmode of 'g' changed to 0700\n600\n"},
		{"printf 'a:b:c\\n' | cut -d: -f1,3 --output-delimiter=-; printf 'a:b\\n' | cut -d: -f1 --complement; echo abc | tr --delete b", "a-c\nb\nac\n"},
		{"install -D -m 0700 /etc/hostname x/y && stat -c %a x/y; install -d p/q && ls p", "700\nq\n"},
		{"dd if=/dev/zero of=f bs=1K count=2 2>/dev/null; stat -c %s f; truncate -s 10 f; stat -c %s f; head -c 16 /dev/urandom | base64 | wc -c", "2048\n10\n25\n"},
		{"echo a > f; cp f g; diff f g && echo same; echo b > g; diff f g; cmp -s f g; echo $?; diff -q f g", "same\n< a\n---\n> b\n1\nFiles f and g differ\n"},
		{"seq 3 | paste -sd,; flock lk echo locked; nohup echo x; env -i A=b sh -c 'echo $A'; env -u HOME sh -c 'echo [$HOME]' | head -1; nice -n 5 echo nice", "1,2,3\nlocked\nx\nb\n[]\nnice\n"},
		{"echo 'a b' | xargs -I{} echo '<{}>'; printf 'a\\nb c\\n' | xargs -d '\\n' -n1 echo; : | xargs -r echo none; printf 'a b' | xargs -n1", "<a b>\na\nb c\na\nb\n"},
		{"realpath -m /no/such; readlink -f /tmp/new; realpath -e /no/such; echo $?", "/no/such\n/tmp/new\n1\n"},
		{"bash -euxo pipefail -c 'false | true; echo no' 2>/dev/null; echo $?; bash --norc -c 'echo $0' name; sh -o errexit -c 'false; echo no'; echo $?", "1\nname\n1\n"},
		{"rm -rfv none; touch e; rm -v e >/dev/null; mkdir q; rm -d q; ls; rmdir none 2>/dev/null || echo no", "no\n"},
		{"ls -la --time-style=full-iso / >/dev/null && ls --color=auto -1 /etc/hostname", "/etc/hostname\n"},
		{"wc -l < /etc/hostname; tee --append t < /etc/hostname > /dev/null; cat t; uniq --count t", "1\nweb\n      1 web\n"},
	} {
		m := newMachine(clock.Real(), nil)
		m.Dir = "/tmp"
		out, errOut, _ := run(t, m, "", "sh", "-c", "mkdir w; cd w; "+tt.script)
		if out != tt.out {
			t.Errorf("%s:\n%q (%s), want\n%q", tt.script, out, errOut, tt.out)
		}
	}
}
