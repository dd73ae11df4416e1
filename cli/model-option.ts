import { Option } from 'commander';

/** Names a model that may be on the hub: it is downloaded before the command begins. */
export class ModelOption extends Option {}
