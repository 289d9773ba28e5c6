fn main() {
    cni_host::run(include_bytes!(concat!(env!("OUT_DIR"), "/link-monitor.bytecode")))
}
