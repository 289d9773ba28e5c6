fn main() {
    cni_host::run(include_bytes!(concat!(env!("OUT_DIR"), "/bridge.bytecode")))
}
