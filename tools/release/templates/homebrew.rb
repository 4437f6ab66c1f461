class Minikcm < Formula
  desc "Whole Kubernetes control loop in one process, with simulated nodes and time"
  homepage "https://minikcm.dev/minikcm"
  version "{{ .Version }}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "{{ call .URL "darwin/arm64" }}"
      sha256 "{{ call .SHA256 "darwin/arm64" }}"
    end
    on_intel do
      url "{{ call .URL "darwin/amd64" }}"
      sha256 "{{ call .SHA256 "darwin/amd64" }}"
    end
  end

  on_linux do
    on_arm do
      url "{{ call .URL "linux/arm64" }}"
      sha256 "{{ call .SHA256 "linux/arm64" }}"
    end
    on_intel do
      url "{{ call .URL "linux/amd64" }}"
      sha256 "{{ call .SHA256 "linux/amd64" }}"
    end
  end

  def install
    bin.install "minikcm"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/minikcm.bash" => "minikcm"
    zsh_completion.install "completions/_minikcm"
    fish_completion.install "completions/minikcm.fish"
    prefix.install "licences"
  end

  test do
    assert_match "minikcm v#{version}", shell_output("#{bin}/minikcm version")
    system bin/"minikcm", "exec", "--", bin/"minikcm", "kubectl", "get", "nodes"
  end
end
